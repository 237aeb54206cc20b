import type { SpaceEventName, SpaceEvents } from "./events-api.ts";

const everyEvent: { readonly [Event in SpaceEventName]: true } = {
  acquired: true,
  waiting: true,
  refused: true,
  renewed: true,
  lost: true,
  released: true,
  reclaimed: true,
  withdrawn: true,
  ticketLost: true,
  stall: true,
  unverified: true,
  clockStep: true,
  rewind: true,
  error: true,
};

/** The names of all events; the type above makes sure that none is left out. */
export const eventNames = Object.keys(everyEvent) as readonly SpaceEventName[];

type Listener = (facts: never) => void;

/**
 * The events of one space. What a listener throws, or rejects with, becomes an `error` event and
 * goes nowhere else; without a listener `error` events are dropped (L50).
 */
export class EventHub {
  readonly #listeners: Map<SpaceEventName, Set<Listener>> = new Map();

  on<Event extends SpaceEventName>(
    event: Event,
    listener: (facts: SpaceEvents[Event]) => void,
  ): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }

  /** Whether anybody listens; lets a caller skip making the facts. */
  has(event: SpaceEventName): boolean {
    return (this.#listeners.get(event)?.size ?? 0) > 0;
  }

  emit<Event extends SpaceEventName>(event: Event, facts: SpaceEvents[Event]): void {
    const listeners = this.#listeners.get(event);
    if (listeners === undefined) return;
    for (const listener of listeners) {
      try {
        const returned = (listener as (facts: SpaceEvents[Event]) => unknown)(facts);
        if (returned instanceof Promise)
          returned.catch((error: unknown) => this.#failed(event, error));
      } catch (error) {
        this.#failed(event, error);
      }
    }
  }

  #failed(event: SpaceEventName, error: unknown): void {
    if (event !== "error") this.emit("error", { error, while: `a listener of ${event}` });
  }

  /** Surfaces a failure of background work. */
  fail(error: unknown, during: string): void {
    this.emit("error", { error, while: during });
  }
}
