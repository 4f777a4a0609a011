// A form that imports a file: what is being done, how far it is, and the button that cancels it. Without this script the
// form works: it waits until the import is complete.
import { HwElement, html } from "../kit/element.js";
import { spaced } from "../kit/format.js";
import { t } from "../kit/i18n.js";

/** @import { Refusal } from "../../core/refusal.js" */
/**
 * @typedef {"upload" | "unpack" | "check" | "execute" | "finish"} Step
 * @typedef {{ state: "running" | "done" | "failed" | "cancelled", stage: Step | "waits", done: number, of: number,
 *             address: string, error: Partial<Refusal> | null }} Now
 */

/** @type {Step[]} */
const STEPS = ["upload", "unpack", "check", "execute", "finish"];
const POLL_MS = 400;
/** The pause doubles each time that the lab does not respond, up to this. */
const MAX_POLL_MS = 10_000;
/** lab/web/body_limit.py */
const MAX_BYTES = 256 * 1024 * 1024;
/** A screen reader hears each step, and then not more often than this. */
const SAID_MS = 15_000;

/** @param {number} bytes */
const mebibytes = (bytes) => (bytes / 2 ** 20).toFixed(1);

const unreachable = () => ({ what: t("error.unreachable"), expected: t("error.unreachable_expected"), todo: t("import.again") });

/**
 * For an answer that is not about an import: the session has ended, or a proxy answers for the lab.
 * @param {boolean} isSignedOut @param {number} status @param {string} todo
 */
const foreign = (isSignedOut, status, todo) => ({ what: isSignedOut ? t("import.signed_out") : t("error.status", { status }), todo });

/** @param {Partial<Refusal>} error @returns {Now} */
const failed = (error) => ({ state: "failed", stage: "waits", done: 0, of: 0, address: "", error });

/** Whether a visitor has changed what a form's control had when the page was loaded. @param {Element} control */
function isChanged(control) {
  if (control instanceof HTMLSelectElement) {
    const first = [...control.options].findIndex((one) => one.defaultSelected);
    return control.selectedIndex !== Math.max(0, first);
  }
  if (control instanceof HTMLTextAreaElement) return control.value !== control.defaultValue;
  if (!(control instanceof HTMLInputElement)) return false;
  // The value of a box that has none is "on", by default and otherwise.
  if (["checkbox", "radio"].includes(control.type)) return control.checked !== control.defaultChecked;
  return control.value !== control.defaultValue;
}

/** @param {Now} now */
function percentOf({ done, of }) {
  return of > 0 ? Math.min(100, Math.floor((100 * done) / of)) : 0;
}

/** @param {Now} now */
function amount(now) {
  const { stage, done, of } = now;
  if (stage === "waits" || of <= 0) return "";
  const percent = `${percentOf(now)} %`;
  if (stage === "upload" || stage === "unpack") return `${t("import.of_mib", { done: mebibytes(done), of: mebibytes(of) })} · ${percent}`;
  if (stage === "execute") return `${t("import.of_events", { done: spaced(done), of: spaced(of) })} · ${percent}`;
  return percent;
}

class HwImport extends HwElement {
  static properties = {
    now: { state: true }, ended: { state: true }, made: { state: true }, isLost: { state: true }, said: { state: true },
  };

  constructor() {
    super();
    /** @type {Now | null} */
    this.now = null;
    /** Why nothing was imported. @type {Partial<Refusal> | "cancelled" | null} */
    this.ended = null;
    /** The address of what was imported, while the page offers it. */
    this.made = "";
    this.isLost = false;
    this.isLeaving = false;
    this.said = "";
    this.saidMs = 0;
    /** @type {XMLHttpRequest | null} */
    this.sending = null;
    this.id = "";
  }

  get form() {
    return /** @type {HTMLFormElement} */ (this.closest("form"));
  }

  connectedCallback() {
    super.connectedCallback();
    this.form.addEventListener("submit", this.#begin);
    addEventListener("beforeunload", this.#warn);
    addEventListener("pageshow", this.#again);
    const { import: running } = this.dataset;
    if (running) void this.#follow(running, true);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener("beforeunload", this.#warn);
    removeEventListener("pageshow", this.#again);
  }

  /** What is sent is lost with the page. @param {BeforeUnloadEvent} event */
  #warn = (event) => this.sending && event.preventDefault();

  /** This page, which was left for what was imported, comes back from the browser's memory. @param {PageTransitionEvent} event */
  #again = ({ persisted }) => {
    if (!persisted || !this.isLeaving) return;
    this.isLeaving = false;
    this.#reset();
  };

  /** @param {SubmitEvent} event */
  #begin = (event) => {
    event.preventDefault();
    if (this.now) return;
    const body = new FormData(this.form);
    const file = body.get("file");
    const size = file instanceof File ? file.size : 0;
    if (size > MAX_BYTES) {
      const [mib, max] = [Math.ceil(size / 2 ** 20), MAX_BYTES / 2 ** 20];
      this.#end({ what: t("import.too_large", { mib }), expected: t("import.too_large_expected", { max }),
        todo: t("import.too_large_todo") });
      return;
    }
    this.#show({ state: "running", stage: "upload", done: 0, of: size, address: "", error: null });
    const sending = (this.sending = new XMLHttpRequest());
    sending.open("POST", this.form.action);
    sending.setRequestHeader("Accept", "application/json");
    sending.responseType = "json";
    sending.upload.onprogress = ({ loaded, total }) => this.now && this.#show({ ...this.now, done: loaded, of: total });
    sending.onabort = () => this.#end("cancelled");
    sending.onerror = () => this.#end(unreachable());
    sending.onload = () => {
      this.sending = null;
      const answer = sending.response;
      if (sending.status === 202) void this.#follow(answer.import);
      else if (answer?.what) this.#end(answer);
      else {
        const isSignedOut = sending.responseURL !== this.form.action;
        this.#end(foreign(isSignedOut, sending.status, isSignedOut ? t("import.sign_in") : t("import.again")));
      }
    };
    sending.send(body);
    void this.updateComplete.then(() => this.focusOn("button"));
  };

  /**
   * @param {string} id of the import, from the upload to its end
   * @param {boolean} [isFound] it began before the page was loaded; the browser may have kept the page since
   */
  async #follow(id, isFound = false) {
    this.id = id;
    let pauseMs = POLL_MS;
    for (;;) {
      const now = await this.#asked(`/api/imports/${id}.json`);
      if (now) {
        // Back from what was imported leads to this page, which must not lead there again.
        if (now.state === "done") return isFound && !this.now ? this.#offer(now.address) : this.#open(now.address);
        if (now.state !== "running") return this.#end(now.state === "cancelled" ? "cancelled" : now.error ?? {});
        this.#show(now);
      }
      pauseMs = now ? POLL_MS : Math.min(2 * pauseMs, MAX_POLL_MS);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  /**
   * An answer about the import; null while the lab does not respond.
   * @param {string} address @param {RequestInit} [options] @returns {Promise<Now | null>}
   */
  async #asked(address, options) {
    try {
      const answer = await fetch(address, options);
      const isJson = !answer.redirected && answer.headers.get("Content-Type")?.startsWith("application/json");
      const content = isJson ? await answer.json() : foreign(answer.redirected, answer.status, t("import.reload"));
      this.isLost = false;
      return isJson && answer.ok ? content : failed(content);
    } catch {
      this.isLost = true;
      return null;
    }
  }

  #cancel = () => {
    if (this.sending) return this.sending.abort();
    const token = /** @type {HTMLInputElement} */ (this.form.elements.namedItem("csrfmiddlewaretoken")).value;
    // The next poll gets the same answer.
    void this.#asked(`/api/imports/${this.id}/cancel`, { method: "POST", headers: { "X-CSRFToken": token } });
  };

  /** @param {Now} now */
  #show(now) {
    const isNew = now.stage !== this.now?.stage;
    this.now = now;
    this.ended = null;
    this.made = "";
    this.#fields(true);
    if (!isNew && Date.now() - this.saidMs < SAID_MS) return;
    this.saidMs = Date.now();
    const step = t(`import.step.${now.stage}`);
    this.said = isNew ? step : `${step}: ${percentOf(now)} %`;
  }

  /** @param {Partial<Refusal> | "cancelled"} why */
  #end(why) {
    const mayFocus = this.#mayFocus();
    this.#reset();
    this.ended = why;
    const field = this.form.querySelector("input[type=file]");
    if (mayFocus && field instanceof HTMLElement) field.focus();
  }

  /** Shows what was imported. Where that would discard what is being entered in another form, a link does it. @param {string} address */
  #open(address) {
    if (this.#isElsewhere()) return this.#offer(address);
    this.isLeaving = true;
    location.assign(address);
  }

  /** @param {string} address of what was imported */
  #offer(address) {
    const mayFocus = this.#mayFocus();
    this.#reset();
    this.made = address;
    if (mayFocus) void this.updateComplete.then(() => this.focusOn("a"));
  }

  #reset() {
    this.now = null;
    this.sending = null;
    this.isLost = false;
    this.ended = null;
    this.said = "";
    this.#fields(false);
  }

  /** Whether the focus is here, or nowhere. */
  #mayFocus() {
    const { activeElement } = document;
    return !activeElement || activeElement === document.body || this.form.contains(activeElement);
  }

  /** Whether another form is in use. */
  #isElsewhere() {
    const focused = document.activeElement?.closest("form");
    if (focused && focused !== this.form) return true;
    return [...document.forms].some((form) => form !== this.form && [...form.elements].some(isChanged));
  }

  /** @param {boolean} hidden whether what the form shows before and after an import is hidden */
  #fields(hidden) {
    for (const part of this.form.children) {
      if (part instanceof HTMLElement && part !== this && part.matches("label, small, .btn, .message")) part.hidden = hidden;
    }
    if (!hidden) return;
    this.form.querySelector("#import-error")?.remove();
    for (const name of ["aria-invalid", "aria-describedby"]) this.form.querySelector("input[type=file]")?.removeAttribute(name);
  }

  render() {
    return html`${this.now ? this.#progress(this.now) : this.#ended()}<span class="sr" role="status">${this.said}</span>`;
  }

  #ended() {
    const { ended, made } = this;
    if (made) return html`<div class="message ok"><b role="status">${t("import.complete")}</b>
      <a class="btn small" href=${made}>${t(made.startsWith("/r/") ? "import.open_run" : "import.open_class")}</a></div>`;
    if (ended === "cancelled") return html`<div class="message" role="status"><b>${t("import.cancelled")}</b></div>`;
    if (!ended) return "";
    return html`<div class="message bad" role="alert"><b>${ended.what ?? t("error.unexpected")}</b><span>${ended.expected}</span>
      <span>${ended.todo}</span></div>`;
  }

  /** @param {Now} now */
  #progress(now) {
    // What waits has been uploaded.
    const at = now.stage === "waits" ? STEPS.indexOf("unpack") : STEPS.indexOf(now.stage);
    const doing = this.isLost ? t("error.unreachable") : t(`import.step.${now.stage}`);
    return html`<ol class="import-steps">${STEPS.map((step, n) => html`<li class=${n < at ? "done" : ""}
        aria-current=${step === now.stage ? "step" : "false"}>${t(`import.short.${step}`)}</li>`)}</ol>
      <div class="row"><b>${doing}</b><span class="spacer"></span><span class="dim tnum">${amount(now)}</span></div>
      <progress max="100" value=${percentOf(now)} aria-label=${doing}></progress>
      <div class="row"><small class="dim">${now.stage === "upload" ? t("import.keep_open") : t("import.continues")}</small>
        <span class="spacer"></span><button type="button" class="btn small" @click=${this.#cancel}>${t("dialog.cancel")}</button></div>`;
  }
}

customElements.define("hw-import", HwImport);
