// SPDX-License-Identifier: Apache-2.0
// What the page shows of a transfer.
import { bytes, clock, duration, number, rate, t } from "/page/common.js";

/** The states in the order of their buttons. */
export const states = ["active", "retrying", "held", "waiting", "paused", "finished", "failed", "removed"];
/** The states of transfers that have ended. */
export const ended = ["finished", "failed", "removed"];

/** Whether the page is connected: what a transfer does now is unknown without. */
export const connection = { isLost: false };

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

/** The share as a percentage; empty if it is unknown or everything. */
export function percent(transfer) {
	const part = share(transfer);
	return part === null || transfer.state === "finished" ? "" : `${Math.floor(part * 100)} %`;
}

/** The rate of a running transfer in bytes per second; `null` if it does not run, or nothing was reported for 2 s. */
export function rateOf(transfer) {
	const isKnown = transfer.state === "active" && !connection.isLost && Date.now() - transfer.seen < 2000;
	return isKnown ? transfer.rate : null;
}

/** The seconds that a transfer still takes; `null` if they are unknown. */
export function secondsLeft(transfer) {
	const now = rateOf(transfer);
	return now > 0 && transfer.total > 0 ? (transfer.total - transfer.bytes) / now : null;
}

/** The text of a failure's code: the daemon's words if this page does not know it. */
function problem(code, words, status) {
	const key = `code.${code}`;
	const text = t(key);
	const found = code && text !== key ? text : (words ?? "");
	return status ? `${found} (${status})` : found;
}

/** When a transfer is tried again. */
function next({ nextTry }) {
	const left = nextTry === null || nextTry === undefined ? 0 : nextTry - Date.now() / 1000;
	return connection.isLost ? "" : left > 0 ? t("nextTry", { time: duration(left) }) : t("tryingNow");
}

const joined = (...texts) => texts.filter(Boolean).join(t("comma"));

/** Why a transfer waits, is tried again or failed, and whether that is a problem. */
export function note(transfer) {
	const { error, hold, retry, state, waitingFor } = transfer;
	if (state === "failed" && error) return [problem(error.reason, error.message, error.status), "bad"];
	if (state === "retrying" && retry) return [joined(problem(retry.code, retry.cause), next(retry)), "warn"];
	if (hold && !ended.includes(state)) {
		const reason = t(`hold.${hold.reason}`, { host: hold.host, time: clock(hold.since) });
		if (hold.reason === "in-use") return [reason, "warn"];
		const cause = hold.reason === "throttled" || hold.code === "no-space" ? "" : problem(hold.code, hold.cause);
		return [joined(reason, cause, next(hold)), "warn"];
	}
	return waitingFor ? [t(`wait.${waitingFor}`), "warn"] : ["", ""];
}

/** The size of a transfer: that of its file, or its bytes while that is unknown. */
export function size(transfer) {
	if (transfer.state !== "finished" && transfer.total > 0) return bytes(transfer.total);
	return transfer.bytes > 0 || transfer.state === "finished" ? bytes(transfer.bytes) : "";
}

/** The bytes, the rate and the time left of a transfer in one line. */
export function quantities(transfer) {
	const isPart = transfer.state !== "finished" && transfer.total > 0;
	const parts = [isPart ? t("of", { part: bytes(transfer.bytes), total: bytes(transfer.total) }) : size(transfer)];
	const now = rateOf(transfer);
	if (now !== null) parts.push(rate(now));
	const left = secondsLeft(transfer);
	if (left !== null) parts.push(duration(left));
	return parts.filter(Boolean).join(" · ");
}

/** The names of some transfers, for a question. */
export function namesOf(transfers) {
	const names = transfers.slice(0, 3).map((one) => (one.urls ? name(one) : one.id));
	const more = transfers.length - names.length;
	return more > 0 ? [...names, t("more", { n: more, number: number(more) })] : names;
}
