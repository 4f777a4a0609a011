// Sound that the server has not acknowledged: kept in IndexedDB, so that neither a reload nor a lost network costs it.

const NAME = "highwater-sound";

/**
 * A piece that is not over at the server. `slices`: how many it has, -1 until it ended.
 * @typedef {{ slug: string, piece: number, at_us: number, type: string, slices: number, length_us: number, kept_ms: number }} KeptPiece
 * @typedef {{ slug: string, piece: number, index: number, data: ArrayBuffer }} KeptSlice
 */

/** @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error ?? new Error("IndexedDB"));
});

export class Outbox {
  #db;
  #slug;

  /** Use `Outbox.open`. @param {IDBDatabase} db @param {string} slug of the class */
  constructor(db, slug) {
    this.#db = db;
    this.#slug = slug;
  }

  /** @param {IDBFactory} factory @param {string} slug of the class @returns {Promise<Outbox>} */
  static async open(factory, slug) {
    const opening = factory.open(NAME, 1);
    opening.onupgradeneeded = () => {
      opening.result.createObjectStore("pieces", { keyPath: ["slug", "piece"] });
      opening.result.createObjectStore("slices", { keyPath: ["slug", "piece", "index"] });
    };
    return new Outbox(await done(opening), slug);
  }

  /** @param {string} store @param {IDBTransactionMode} [mode] */
  #store(store, mode = "readonly") {
    return this.#db.transaction(store, mode).objectStore(store);
  }

  /** @param {Omit<KeptPiece, "slug">} piece */
  async putPiece(piece) {
    await done(this.#store("pieces", "readwrite").put({ ...piece, slug: this.#slug }));
  }

  /** @param {number} piece @param {number} index @param {ArrayBuffer} data */
  async putSlice(piece, index, data) {
    await done(this.#store("slices", "readwrite").put({ slug: this.#slug, piece, index, data }));
  }

  /** Pieces of this class, the oldest first. @returns {Promise<KeptPiece[]>} */
  async pieces() {
    return done(this.#store("pieces").getAll(IDBKeyRange.bound([this.#slug], [this.#slug, []])));
  }

  /** Slices of a piece in order. @param {number} piece @returns {Promise<KeptSlice[]>} */
  async slices(piece) {
    return done(this.#store("slices").getAll(IDBKeyRange.bound([this.#slug, piece], [this.#slug, piece, []])));
  }

  /** How many slices wait. */
  async waiting() {
    return done(this.#store("slices").count(IDBKeyRange.bound([this.#slug], [this.#slug, []])));
  }

  /** @param {number} piece @param {number} index */
  async dropSlice(piece, index) {
    await done(this.#store("slices", "readwrite").delete([this.#slug, piece, index]));
  }

  /** The piece with all its slices. @param {number} piece */
  async dropPiece(piece) {
    await done(this.#store("slices", "readwrite").delete(IDBKeyRange.bound([this.#slug, piece], [this.#slug, piece, []])));
    await done(this.#store("pieces", "readwrite").delete([this.#slug, piece]));
  }
}
