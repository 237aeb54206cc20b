/*
 * One lock, its clients and a fenced resource, written from the invariants of docs/spec/locks.md
 * and not from the code, so that the two do not share a mistake.
 *
 * Stored is what a crash leaves: attempts, counter, floor, queue, marks. Volatile is what a client
 * believes. A call is sent, committed and answered in three steps, between which time passes and
 * others act; its answer may be lost and its packet may come late. Ends are kept as ticks that are
 * left, so the states are finite; attempts, crashes and losses are bounded.
 *
 * Left out: batches, upgrades, claims, forced ends, lock-delays, clock error.
 */
#ifndef ATTEMPTS
#define ATTEMPTS 3 /* requests of all clients together */
#endif
#ifndef FAULTS
#define FAULTS 1 /* crashes, presences that end too early, and calls without an answer: committed,
                    not committed, or committed late; and sweeps of the record */
#endif
#ifndef WRITES
#define WRITES 2 /* writes to the resource */
#endif
#ifndef RENEWALS
#define RENEWALS 1
#endif
#ifndef LEASE
#define LEASE 2 /* ticks of a lease */
#endif
#define CLIENTS 3
#define CONFIRM 1 /* ticks in which a grant to the ticket of another client is confirmed */

mtype = { exclusive, shared };
mtype = { unknown, queued, pending, held, ended };       /* an attempt, as it is stored */
mtype = { idle, waits, holds, lost };          /* a client, as it sees itself */
mtype = { nothing, ask, renew, release, cancel };        /* a call on its way to the store */
mtype = { granted, listed, refused };                    /* and its answer on the way back */
mtype = { quick, slow, waiting, stray };                 /* how a step of a call goes */

/* Stored. An attempt is its own lease id; its number says nothing about its place in the queue. */
mtype status[ATTEMPTS + 1] = unknown;
mtype mode[ATTEMPTS + 1] = exclusive;
byte token[ATTEMPTS + 1];
byte left[ATTEMPTS + 1];    /* ticks until its end; it is over at 0 */
bool present[ATTEMPTS + 1]; /* whether the presence under which it was asked for is alive */
byte queue[ATTEMPTS + 1];
byte depth;
bool isStored;
byte counter;
byte floor;
byte markX;
byte markS;

/* Volatile. */
mtype phase[CLIENTS] = idle;
mtype call[CLIENTS] = nothing;
byte mine[CLIENTS];  /* its attempt, 0 for none */
byte known[CLIENTS]; /* the token that its last answer tells */
byte until[CLIENTS]; /* ticks until its local deadline */
byte fresh[CLIENTS]; /* ticks that would be left of a lease counted from the sending of its call */
byte cacheX;         /* what the resource remembers of its marks */
byte cacheS;

/* Under way. */
byte write[CLIENTS]; /* the token of a write to the resource, 0 for none */
mtype writeMode[CLIENTS] = exclusive;
byte late;           /* the attempt of a packet that nobody awaits, 0 for none */
mtype lateCall = nothing;
byte attempts;
byte begun;          /* clients that have asked: the next to begin is the next in number */
byte faults = FAULTS;
byte writes = WRITES;
byte renewals = RENEWALS;

/* What the invariants speak of and nothing is decided by. */
byte mintedX;               /* the greatest token ever minted, by mode */
byte mintedS;
byte writtenX;              /* the greatest token ever accepted by the resource, by mode */
byte writtenS;
bool isOver[ATTEMPTS + 1];  /* its end has come */
bool hasEnded[ATTEMPTS + 1];
bool isGone[CLIENTS];       /* the handle of its attempt was lost or released */

hidden byte i;
hidden byte j;
hidden byte k;
hidden byte n;
hidden byte head;
hidden byte own; /* the attempt for which is decided */
hidden byte isFree;
hidden mtype what;
hidden byte whose;

#define isLive(a) ((status[a] == held || status[a] == pending) && left[a] > 0)
#define conflict(a, b) (mode[a] == exclusive || mode[b] == exclusive)
#define believes(c) (phase[c] == holds && until[c] > 0)
#define isReply(what) (what == granted || what == listed || what == refused)
#define isRequest(what) (what == ask || what == renew || what == release || what == cancel)

/* What must hold after every step that changes what is stored or believed. */
inline check() {
  for (i : 1 .. ATTEMPTS) {
    for (j : 1 .. ATTEMPTS) {
      assert(i == j || !isLive(i) || !isLive(j) || !conflict(i, j)) /* I4 */
    }
  }
  for (i : 0 .. CLIENTS - 1) {
    if
    :: believes(i) ->
      assert(status[mine[i]] == held && token[mine[i]] == known[i]); /* I2, I7 */
      assert(left[mine[i]] >= until[i]); /* I9 */
      assert(!isGone[i]) /* I10 */
    :: else
    fi
  }
  skip
}

inline findFree(a) {
  isFree = 1;
  for (j : 1 .. ATTEMPTS) {
    if
    :: j != a && isLive(j) && conflict(j, a) -> isFree = 0
    :: else
    fi
  }
}

inline unqueue(a) {
  k = 0;
  do
  :: k < depth && queue[k] != a -> k++
  :: else -> break
  od;
  if
  :: k < depth ->
    do
    :: k + 1 < depth -> queue[k] = queue[k + 1]; k++
    :: else -> break
    od;
    depth--;
    queue[depth] = 0
  :: else
  fi
}

inline finish(a) {
  unqueue(a);
  status[a] = ended;
  hasEnded[a] = true;
  mode[a] = exclusive;
  present[a] = false;
  isOver[a] = false;
  token[a] = 0;
  left[a] = 0
}

/* Grants the head of the queue: held at once for the one who decides, else to be confirmed. */
inline grant(a) {
  for (n : 1 .. ATTEMPTS) {
    assert(!isLive(n) || !conflict(n, a)); /* I5 */
    if
    :: status[n] == held && left[n] == 0 -> finish(n) /* reclaimed */
    :: else
    fi
  }
  assert(present[a] && !hasEnded[a]); /* I6 */
  unqueue(a);
  counter++;
  assert(counter > mintedX && counter > mintedS); /* I1 */
  if
  :: mode[a] == exclusive -> mintedX = counter
  :: else -> mintedS = counter
  fi;
  token[a] = counter;
  present[a] = false;
  status[a] = (a == own -> held : pending);
  left[a] = (a == own -> LEASE : CONFIRM)
}

/* Withdraws what was not confirmed in time, then serves the queue. */
inline advance() {
  for (n : 1 .. ATTEMPTS) {
    if
    :: status[n] == pending && left[n] == 0 -> finish(n)
    :: else
    fi
  }
  do
  :: depth == 0 -> break
  :: depth > 0 ->
    head = queue[0];
    findFree(head);
    if
    :: !present[head] -> finish(head)
    :: present[head] && !isFree -> break
    :: present[head] && isFree -> grant(head)
    fi
  od
}

/* One decision. A record that was swept begins again at the floor. */
inline decide(does, a) {
  if
  :: !isStored -> isStored = true; counter = floor
  :: else
  fi;
  if
  :: does == ask && status[a] == unknown ->
    status[a] = queued; present[a] = true; queue[depth] = a; depth++
  :: does == ask && status[a] == queued -> present[a] = true
  :: does == release && status[a] == held -> finish(a)
  :: does == cancel -> finish(a)
  :: else
  fi;
  own = (does == ask -> a : 0);
  advance();
  if
  :: left[a] > 0 && (does == ask || does == renew && status[a] == held) ->
    assert(!isOver[a]); /* I8 */
    status[a] = held;
    left[a] = LEASE
  :: else
  fi;
  check()
}

inline send(c, what) {
  call[c] = what;
  fresh[c] = LEASE
}

/* A new attempt, under a presence that outlives its client's crash for a while. */
inline begin(c, as) {
  attempts++;
  begun = (c == begun -> begun + 1 : begun);
  mine[c] = attempts;
  mode[attempts] = as;
  phase[c] = waits;
  send(c, ask)
}

/* The store answers with what the attempt is after this very commit. */
inline reply(c) {
  known[c] = token[mine[c]];
  if
  :: status[mine[c]] == held && left[mine[c]] > 0 -> call[c] = granted
  :: status[mine[c]] == queued -> call[c] = listed
  :: else -> call[c] = refused
  fi
}

inline stop(c) { /* the client forgets its attempt */
  phase[c] = idle;
  isGone[c] = false;
  call[c] = nothing;
  mine[c] = 0;
  known[c] = 0;
  until[c] = 0;
  fresh[c] = 0
}

inline lose(c) {
  phase[c] = lost;
  until[c] = 0;
  isGone[c] = true
}

inline hear(c) {
  if
  :: call[c] == granted && phase[c] == waits -> phase[c] = holds; until[c] = fresh[c]
  :: call[c] == granted && phase[c] == holds && until[c] > 0 -> until[c] = fresh[c]
  :: call[c] == refused -> stop(c)
  :: else
  fi;
  call[c] = nothing;
  fresh[c] = 0;
  check()
}

inline park(c) {
  late = mine[c];
  lateCall = call[c]
}

/* Clients are alike, so it is enough that they ask for the first time in the order of numbers. */
#define mayBegin(c) (phase[c] == idle && attempts < ATTEMPTS && c <= begun)

/*
 * Usually a call is sent, decided and answered at once. As a fault it is slow: time passes and
 * others act before its decision and again before its answer, or either of the two is lost, or the
 * request arrives when nobody awaits it any more.
 */
active [CLIENTS] proctype Client() {
  byte me = _pid;
  mtype course = quick;
end:
  do
  :: atomic {
       if
       :: mayBegin(me) -> begin(me, exclusive)
       :: mayBegin(me) -> begin(me, shared)
       :: phase[me] == waits && call[me] == nothing -> send(me, ask)
       :: phase[me] == waits && call[me] == nothing -> send(me, cancel); phase[me] = lost
       :: believes(me) && call[me] == nothing && renewals > 0 -> send(me, renew); renewals--
       :: phase[me] == holds && call[me] == nothing -> send(me, release); lose(me)
       :: isRequest(call[me]) -> course = slow
       :: me == 0 && late > 0 -> course = stray
       fi;
       if
       :: course != quick -> skip
       :: course == quick && faults > 0 -> faults--; course = waiting
       :: course == quick -> skip
       fi;
       d_step {
         if
         :: course == stray -> what = lateCall; whose = late; late = 0; lateCall = nothing
         :: else -> what = call[me]; whose = mine[me]
         fi;
         if
         :: course == waiting -> skip
         :: else -> decide(what, whose)
         fi;
         if
         :: course == slow -> reply(me)
         :: course == quick -> reply(me); hear(me)
         :: else
         fi;
         course = quick
       }
     }
  :: d_step { isReply(call[me]) -> hear(me) }
  :: d_step { call[me] != nothing -> call[me] = nothing; fresh[me] = 0 }
  :: d_step { isRequest(call[me]) && late == 0 -> park(me); call[me] = nothing; fresh[me] = 0 }
  :: d_step { believes(me) && writes > 0 && write[me] == 0 ->
       writes--;
       write[me] = known[me];
       writeMode[me] = mode[mine[me]] }
  :: d_step { (phase[me] == holds && until[me] == 0 || phase[me] == lost) && call[me] == nothing ->
       stop(me) }
  :: d_step { phase[me] != idle && faults > 0 -> faults--; stop(me) } /* it crashes */
  od
}

inline tick() {
  for (i : 1 .. ATTEMPTS) {
    if
    :: left[i] > 0 -> left[i]--; isOver[i] = (left[i] == 0)
    :: else
    fi
  }
  for (i : 0 .. CLIENTS - 1) {
    if
    :: fresh[i] > 0 -> fresh[i]--
    :: else
    fi;
    if
    :: until[i] > 0 -> until[i]--; isGone[i] = (until[i] == 0)
    :: else
    fi
  }
  check()
}

#define isTicking (left[1] > 0 || left[ATTEMPTS - 1] > 0 || left[ATTEMPTS] > 0 || \
  fresh[0] > 0 || fresh[1] > 0 || fresh[2] > 0)

active proctype Clock() {
end:
  do
  :: d_step { isTicking -> tick() }
  od
}

/* The resource judges a write by its marks, and stores the raised mark with it. */
inline judge(c) {
  if
  :: writeMode[c] == exclusive && write[c] >= cacheX && write[c] >= cacheS ->
    assert(write[c] >= writtenX && write[c] >= writtenS); /* I26 */
    writtenX = write[c];
    cacheX = write[c];
    markX = cacheX
  :: writeMode[c] == shared && write[c] >= cacheX ->
    assert(write[c] >= writtenX); /* I26 */
    writtenS = (write[c] > writtenS -> write[c] : writtenS);
    cacheS = (write[c] > cacheS -> write[c] : cacheS);
    markS = cacheS
  :: else -> /* I26: a newer conflicting holder is the only reason to refuse */
    assert(mintedX > write[c] || writeMode[c] == exclusive && mintedS > write[c])
  fi;
  write[c] = 0;
  writeMode[c] = exclusive
}

inline sweep() {
  isFree = 1;
  for (i : 1 .. ATTEMPTS) {
    if
    :: isLive(i) -> isFree = 0
    :: else
    fi
  }
  if
  :: isFree ->
    for (i : 1 .. ATTEMPTS) {
      if
      :: status[i] == held || status[i] == pending -> finish(i)
      :: else
      fi
    }
    floor = counter;
    counter = 0;
    isStored = false
  :: else
  fi
}

#define isMine(a) (mine[0] == a || mine[1] == a || mine[2] == a)

/* A presence ends some time after its client, or, when its client was stopped too long, before. */
inline lapse(a) {
  if
  :: status[a] == queued && present[a] && !isMine(a) -> present[a] = false
  :: status[a] == queued && present[a] && isMine(a) && faults > 0 -> faults--; present[a] = false
  :: else
  fi
}

active proctype World() {
  byte one;
end:
  do
  :: d_step { write[0] > 0 -> judge(0) }
  :: d_step { write[1] > 0 -> judge(1) }
  :: d_step { write[2] > 0 -> judge(2) }
  :: d_step { true -> cacheX = markX; cacheS = markS } /* the resource restarts */
  :: d_step { isStored && depth == 0 && faults > 0 -> faults--; sweep() }
  :: atomic { select(one : 1 .. ATTEMPTS); lapse(one); one = 0 }
  od
}

/* Under weak fairness, whoever waits comes to an end of it: granted, refused, given up, crashed. */
ltl settles0 { [] (phase[0] == waits -> <> (phase[0] != waits)) }
ltl settles1 { [] (phase[1] == waits -> <> (phase[1] != waits)) }
ltl settles2 { [] (phase[2] == waits -> <> (phase[2] != waits)) }
