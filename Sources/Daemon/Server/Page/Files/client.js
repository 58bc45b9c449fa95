// SPDX-License-Identifier: Apache-2.0
// The daemon's RPC and events, and what the page shows of a transfer.
import { bytes, clock, duration, rate, t } from "/page/common.js";

/** An error of the daemon: its name, what failed, and how to fix it. */
export class RPCError extends Error {
	constructor(error) {
		super([error.message, error.data?.remedy].filter(Boolean).join("; "));
		this.reason = error.data?.reason ?? "unknown";
	}
}

async function post(body) {
	const response = await fetch("/jsonrpc", { method: "POST", body: JSON.stringify(body) }).catch(() => {
		throw new RPCError({ message: t("unreachable"), data: { reason: "unreachable" } });
	});
	return response.json().catch(() => {
		throw new RPCError({ message: `${response.status} ${response.statusText}` });
	});
}

const message = (method, params, id) => ({ jsonrpc: "2.0", id, method: `martlet.${method}`, params: [params] });

/** The number of transfers that a list of a state has: the held ones are active there. */
export const countOf = (counts, state) => (counts[state] ?? 0) + (state === "active" ? (counts.held ?? 0) : 0);

/** Calls a method of `martlet.*`. */
export async function call(method, params = {}) {
	const { result, error } = await post(message(method, params, 1));
	if (error) throw new RPCError(error);
	return result;
}

/** Performs an action on those transfers whose state still allows it. */
export async function perform(method, ids, more = {}) {
	let changed = 0;
	for (let start = 0; start < ids.length; start += 1000) {
		const part = ids.slice(start, start + 1000);
		try {
			changed += (await call(method, { ids: part, ...more })).changed;
		} catch (error) {
			if (part.length === 1 || !["wrongState", "notFound"].includes(error.reason)) throw error;
			const answers = await post(part.map((id, index) => message(method, { ids: [id], ...more }, index)));
			changed += answers.filter(({ result }) => result).length;
		}
	}
	return changed;
}

/** Follows the daemon's events, and connects again when they end. */
export class Events {
	constructor({ event, connected, lost, signedOut }) {
		Object.assign(this, { event, connected, lost, signedOut });
		this.delay = 500;
		// Finds connections that have ended without a word, and renews the cookie.
		setInterval(() => this.source && this.session().then((session) => session?.ok || this.again()), 30000);
	}

	session() {
		return fetch("/page/session", { signal: AbortSignal.timeout(10000) }).catch(() => null);
	}

	async start() {
		this.source?.close();
		this.source = undefined;
		clearTimeout(this.timer);
		const session = await this.session();
		if (session?.status === 401) return this.signedOut();
		if (!session?.ok) return this.again();
		const source = new EventSource("/events");
		this.source = source;
		source.onopen = () => {
			this.delay = 500;
			this.connected();
		};
		source.onerror = () => this.again();
		for (const kind of ["started", "paused", "removed", "finished", "failed", "queued", "all", "progress"]) {
			source.addEventListener(kind, (event) => this.event(JSON.parse(event.data)));
		}
		return undefined;
	}

	again() {
		this.source?.close();
		clearTimeout(this.timer);
		this.lost();
		this.timer = setTimeout(() => this.start(), this.delay);
		this.delay = Math.min(this.delay * 1.6, 8000);
	}
}

const decoded = (text) => {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
};

/** The last component of a path. */
const last = (path) => path.slice(path.lastIndexOf("/") + 1);

/** The host of a transfer's first URL. */
export const host = (transfer) => transfer.urls[0]?.match(/^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/)?.[1] ?? "";

/** The name of a transfer's file. */
export function name(transfer) {
	const url = transfer.urls[0] ?? "";
	const path = url.replace(/^\w+:\/\/[^/?#]*/, "").replace(/[?#].*$/, "");
	return last(transfer.path ?? "") || transfer.options.out || decoded(last(path)) || host(transfer) || url;
}

/** The share of its bytes that a transfer has, from 0 to 1; `null` if the total is unknown. */
export function share(transfer) {
	if (transfer.state === "finished") return 1;
	return transfer.total > 0 ? Math.min(1, transfer.bytes / transfer.total) : null;
}

/** Why a transfer waits or failed, and whether that is a problem. */
export function note(transfer) {
	if (transfer.error && transfer.state === "failed") return [transfer.error.message, "bad"];
	const hold = transfer.hold;
	if (hold) {
		const left = hold.reason === "in-use" ? "" : hold.nextTry === null ? t("tryingNow") : t("nextTry", { time: duration(hold.nextTry - Date.now() / 1000) });
		const reason = t(`hold.${hold.reason}`, { host: hold.host, time: clock(hold.since) });
		return [[reason, hold.cause, left].filter(Boolean).join(", "), "warn"];
	}
	return transfer.waitingFor ? [t(`wait.${transfer.waitingFor}`), "warn"] : ["", ""];
}

/** The second line of a transfer's row: sizes, rate and the time left. */
export function quantities(transfer) {
	const parts = [];
	const isPart = transfer.state !== "finished" && transfer.total > 0;
	if (isPart) parts.push(t("of", { part: bytes(transfer.bytes), total: bytes(transfer.total) }));
	else if (transfer.bytes > 0 || transfer.state === "finished") parts.push(bytes(transfer.bytes));
	if (transfer.state === "active") {
		parts.push(rate(transfer.rate));
		if (isPart && transfer.rate > 0) parts.push(duration((transfer.total - transfer.bytes) / transfer.rate));
	}
	return parts.join(" · ");
}
