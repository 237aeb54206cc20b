; The arithmetic of admission to one exclusive lock, over unbounded integers.
;
; Each goal is an (echo "expected: what") followed by (check-sat). A theorem is stated as the search
; for a counterexample and is expected to be unsat; a premise that must be possible is expected to
; be sat. Times and tokens are any integers; ids are integers too, but only compared for equality
; and for being new.

(declare-datatypes () ((State (state
  (counter Int)    ; highest token ever minted
  (held Bool)      ; whether the record holds a grant, live or lapsed
  (id Int)         ; its lease id, token and end
  (token Int)
  (end Int)
  (now Int)        ; engine time
  (issued Int)     ; ghost: greatest token that was ever given out
  (over Int)       ; ghost: greatest token whose grant has ended or come to its end
  (used Int)))))   ; ghost: greatest id that was ever used

(define-fun live ((s State)) Bool (and (held s) (< (now s) (end s))))
(define-fun most ((a Int) (b Int)) Int (ite (>= a b) a b))

; ---- The steps. A grant reclaims what has lapsed.

(define-fun grantable ((s State)) Bool (or (not (held s)) (>= (now s) (end s))))

(define-fun grant ((s State) (a Int) (length Int)) State
  (ite (grantable s)
    (state (+ (counter s) 1) true a (+ (counter s) 1) (+ (now s) length) (now s)
      (most (issued s) (+ (counter s) 1))
      (ite (held s) (most (over s) (token s)) (over s))
      (most (used s) a))
    s))

(define-fun renewable ((s State) (a Int)) Bool (and (held s) (= (id s) a) (< (now s) (end s))))

(define-fun renew ((s State) (a Int) (length Int) (shortens Bool)) State
  (ite (renewable s a)
    (state (counter s) true (id s) (token s)
      (ite shortens (+ (now s) length) (most (end s) (+ (now s) length)))
      (now s) (issued s) (over s) (used s))
    s))

(define-fun release ((s State) (a Int)) State
  (ite (and (held s) (= (id s) a))
    (state (counter s) false 0 0 0 (now s) (issued s) (most (over s) (token s)) (used s))
    s))

(define-fun pass ((s State) (length Int)) State
  (state (counter s) (held s) (id s) (token s) (end s) (+ (now s) length) (issued s)
    (ite (and (held s) (>= (+ (now s) length) (end s))) (most (over s) (token s)) (over s))
    (used s)))

; ---- The invariant: counter above all issued, tokens of ended grants below the live one.

(define-fun invariant ((s State)) Bool (and
  (>= (counter s) (issued s))                                      ; I1, I3
  (>= (issued s) (over s) 0)
  (=> (held s) (and (<= (token s) (issued s)) (>= (token s) 1)))
  (=> (held s) (<= (id s) (used s)))
  (=> (live s) (> (token s) (over s)))                             ; I8
  (=> (and (held s) (not (live s))) (<= (token s) (over s)))
  (=> (not (held s)) (= (issued s) (over s)))
  (=> (held s) (= (issued s) (token s)))))                         ; I4: no other can be live

(declare-const s State)
(declare-const floor Int)
(declare-const instant Int)
(declare-const a Int)
(declare-const length Int)
(declare-const shortens Bool)
(define-fun started () State (state floor false 0 0 0 instant 0 0 0))
(define-fun isFresh () Bool (> a (used s)))

; ---- Base and induction steps.

(push)
(assert (>= floor 0))
(assert (not (invariant started)))
(echo "unsat: base, from any floor")
(check-sat)
(pop)

(push)
(assert (and (invariant s) isFresh (> length 0)))
(assert (not (invariant (grant s a length))))
(echo "unsat: induction over grant")
(check-sat)
(pop)

(push)
(assert (and (invariant s) (> length 0)))
(assert (not (invariant (renew s a length shortens))))
(echo "unsat: induction over renew")
(check-sat)
(pop)

(push)
(assert (invariant s))
(assert (not (invariant (release s a))))
(echo "unsat: induction over release")
(check-sat)
(pop)

(push)
(assert (and (invariant s) (>= length 0)))
(assert (not (invariant (pass s length))))
(echo "unsat: induction over the passing of time")
(check-sat)
(pop)

; ---- What follows from the invariant.

(push)
(assert (and (invariant s) (> length 0) (grantable s)))
(assert (not (and (> (token (grant s a length)) (issued s))
  (= (token (grant s a length)) (counter (grant s a length))))))
(echo "unsat: a grant's token is above all issued [I1]")
(check-sat)
(pop)

(push)
(assert (and (invariant s) (> length 0) (live s)))
(assert (not (= (grant s a length) s)))
(echo "unsat: nobody is granted while a grant is live [I5]")
(check-sat)
(pop)

(push)
(assert (and (invariant s) (> length 0) (not (= a (id s)))))
(assert (not (and (= (renew s a length shortens) s) (= (release s a) s))))
(echo "unsat: a stale id changes nothing [I7]")
(check-sat)
(pop)

(push)
(assert (and (invariant s) (> length 0) (held s) (not (live s))))
(assert (not (= (renew s a length shortens) s)))
(echo "unsat: a lapsed grant is not renewed [I8]")
(check-sat)
(pop)

(push)
(assert (and (invariant s) (> length 0) (live s) (not shortens)))
(assert (< (end (renew s a length shortens)) (end s)))
(echo "unsat: a renewal that may not shorten never does")
(check-sat)
(pop)

(push)
(assert (and (invariant s) (> length 0)))
(assert (or
  (> (end (renew s a length shortens)) (most (end s) (+ (now s) length)))
  (and (grantable s) (not (= (end (grant s a length)) (+ (now s) length))))))
(echo "unsat: no end is further away than its length [I31]")
(check-sat)
(pop)

; ---- The premises are possible.

(push)
(assert (and (invariant s) (live s) (> (over s) 0)))
(echo "sat: a live grant after an ended one")
(check-sat)
(pop)

(push)
(assert (and (invariant s) (held s) (not (live s)) (> length 0) isFresh))
(assert (live (grant s a length)))
(echo "sat: a lapsed grant is reclaimed by the next")
(check-sat)
(pop)

(push)
(assert (and (invariant s) (live s) (> length 0) (= a (id s))))
(assert (> (end (renew s a length shortens)) (end s)))
(echo "sat: a renewal moves the end")
(check-sat)
(pop)

(push)
(assert (and (invariant s) (live s) (= a (id s))))
(assert (not (held (release s a))))
(echo "sat: a release frees")
(check-sat)
(pop)

(push)
(assert (and (invariant s) (live s) (> length 0) (not (live (pass s length)))))
(echo "sat: time ends a grant")
(check-sat)
(pop)
