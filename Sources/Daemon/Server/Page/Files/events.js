// SPDX-License-Identifier: Apache-2.0
// The daemon's events: one stream for all tabs of the page, because browsers allow six connections to a host.

/** The milliseconds without a byte after which a stream is given up; the daemon sends a comment every 15 s. */
const silence = 40000;
/** How often a visible tab looks after the leading one, and how long that one may take to respond. */
const watching = 5000;

/** Reads the daemon's events again and again, until it is aborted. */
class Stream {
	constructor(report) {
		this.report = report;
		this.wake = () => {};
	}

	/** Reports `{ state }` (`open`, `lost` or `signedOut`) and `{ event }`; ends when the signal is aborted. */
	async run(signal) {
		let delay = 500;
		signal.addEventListener("abort", () => this.wake());
		while (!signal.aborted) {
			const state = await this.read(signal, () => (delay = 500));
			if (signal.aborted) return;
			this.report({ state });
			await new Promise((resolve) => {
				this.wake = resolve;
				if (state === "lost") setTimeout(resolve, delay);
			});
			delay = Math.min(delay * 1.6, 8000);
		}
	}

	/** Wakes a stream that waits for its next attempt, and ends one that is dead. */
	async check() {
		this.wake();
		const { control } = this;
		const session = await fetch("/page/session", { signal: AbortSignal.timeout(5000) }).catch(() => null);
		if (!session?.ok) control?.abort();
	}

	/** Reads one stream to its end; returns why it ended. */
	async read(signal, opened) {
		const control = new AbortController();
		this.control = control;
		const abort = () => control.abort();
		signal.addEventListener("abort", abort);
		let timer;
		const hearing = () => {
			clearTimeout(timer);
			timer = setTimeout(abort, silence);
		};
		// Renews the cookie.
		const renewal = setInterval(() => this.check(), 30000);
		try {
			hearing();
			const session = await fetch("/page/session", { signal: control.signal });
			const response = session.ok ? await fetch("/events", { signal: control.signal }) : session;
			if (!response.ok) return response.status === 401 ? "signedOut" : "lost";
			opened();
			this.report({ state: "open", isNew: true });
			const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
			let rest = "";
			for (;;) {
				const { value, done } = await reader.read();
				if (done) return "lost";
				hearing();
				const blocks = (rest + value).split("\n\n");
				rest = blocks.pop();
				for (const block of blocks) {
					const data = block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5));
					if (data.length) this.report({ event: JSON.parse(data.join("\n")) });
				}
			}
		} catch {
			return "lost";
		} finally {
			clearTimeout(timer);
			clearInterval(renewal);
			signal.removeEventListener("abort", abort);
			abort();
		}
	}
}

/**
 * Reports the daemon's events to this tab. Of all tabs the one that holds a lock has the stream, and passes everything on.
 * A visible tab takes the lock from one that does not respond, because it is frozen or blocked. Without locks, which browsers
 * offer over HTTPS and to this machine only, each visible tab has a stream, and hidden ones have none.
 */
export class Events {
	constructor({ event, connected, lost, signedOut }) {
		this.actions = { open: connected, lost, signedOut };
		this.event = event;
		this.channel = new BroadcastChannel("martlet");
		this.channel.addEventListener("message", ({ data }) => this.received(data));
		this.stream = new Stream((news) => this.tell(news));
	}

	/** Starts to follow the events, or tries again at once after a sign-in. */
	start() {
		if (this.isStarted) {
			this.check();
			return;
		}
		this.isStarted = true;
		document.addEventListener("visibilitychange", () => this.seen());
		if (!navigator.locks) return this.seen();
		this.compete();
		this.channel.postMessage({ asks: "state" });
		setInterval(() => this.watch(), watching);
	}

	/** Leads whenever the lock is free. */
	async compete() {
		for (;;) {
			this.candidate = new AbortController();
			const options = this.isTaking ? { steal: true } : { signal: this.candidate.signal };
			this.isTaking = false;
			await navigator.locks.request("martlet", options, () => this.lead()).catch(() => {});
			// Another tab has taken the lock, or this one is about to.
			this.leading?.abort();
			this.leading = undefined;
			delete document.body.dataset.leads;
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
	}

	lead() {
		this.leading = new AbortController();
		document.body.dataset.leads = "";
		return this.stream.run(this.leading.signal);
	}

	/** Asks the leading tab for a sign of life, and takes its place if there is none. */
	async watch() {
		if (this.leading || document.hidden || this.isAsking) return;
		this.isAsking = true;
		this.hasHeard = false;
		this.channel.postMessage({ asks: "state" });
		await new Promise((resolve) => setTimeout(resolve, 2000 + Math.random() * 1500));
		this.isAsking = false;
		if (this.hasHeard || this.leading || document.hidden) return;
		this.isTaking = true;
		this.candidate.abort();
	}

	received({ asks, news }) {
		if (news) {
			this.hasHeard = true;
			if (!this.leading) this.take(news);
		} else if (this.leading && asks === "state") {
			this.channel.postMessage({ news: { state: this.state } });
		} else if (this.leading && asks) {
			this.stream.check();
		}
	}

	/** Takes news of the own stream, and passes them on. */
	tell(news) {
		if (navigator.locks) this.channel.postMessage({ news });
		this.take(news);
	}

	take({ state, event, isNew }) {
		if (event) return this.event(event);
		// A leading tab that has not connected yet reports no state. A new stream does not have the events before it.
		if (!state || (state === this.state && !isNew)) return;
		this.state = state;
		this.actions[state]();
	}

	/** The tab has become visible or hidden. */
	seen() {
		if (navigator.locks) {
			if (document.hidden) return;
			if (this.leading) this.stream.check();
			else this.watch();
		} else if (document.hidden) {
			this.leading?.abort();
			this.leading = this.state = undefined;
		} else if (!this.leading) {
			this.lead();
		}
	}

	/** Has the leading tab look at the cookie, which has ended. */
	check() {
		if (this.leading) this.stream.check();
		else this.channel.postMessage({ asks: "again" });
	}
}
