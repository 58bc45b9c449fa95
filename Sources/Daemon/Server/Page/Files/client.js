// SPDX-License-Identifier: Apache-2.0
// The daemon's RPC.
import { language, t } from "/page/common.js";

/** The milliseconds after which a call is given up. */
const patience = 30000;

/** The reasons of refusals whose text needs nothing of the daemon's message. */
const plain = [
	"diskFull", "notFound", "stopping", "storage", "timeout", "unauthorized", "unreachable", "wrongState",
];

/** An error of the daemon, or of the way to it. */
export class RPCError extends Error {
	constructor({ message, data }) {
		const reason = data?.reason ?? "unknown";
		// The daemon's messages are English, and some remedies name options of commands.
		const remedy = language === "en" && !/ --/.test(data?.remedy) ? data?.remedy : "";
		const text = [message, remedy].filter(Boolean).join("; ");
		super(plain.includes(reason) ? t(`refusal.${reason}`) : language === "en" ? text : t("refusal.other", { text }));
		this.reason = reason;
	}
}

async function post(body) {
	let response;
	try {
		const signal = AbortSignal.timeout(patience);
		response = await fetch("/jsonrpc", { method: "POST", body: JSON.stringify(body), signal });
		return await response.json();
	} catch (error) {
		if (response && error instanceof SyntaxError) {
			throw new RPCError({ message: `${response.status} ${response.statusText}` });
		}
		throw new RPCError({ data: { reason: error.name === "TimeoutError" ? "timeout" : "unreachable" } });
	}
}

const message = (method, params, id) => ({ jsonrpc: "2.0", id, method: `martlet.${method}`, params: [params] });

/** Calls a method of `martlet.*`. */
export async function call(method, params = {}) {
	const { result, error } = await post(message(method, params, 1));
	if (error) throw new RPCError(error);
	return result;
}

/** Calls a method several times, in order; returns the results and the first error. */
export async function callEach(method, all) {
	const results = [];
	let problem;
	for (let start = 0; start < all.length; start += 1000) {
		const answers = await post(all.slice(start, start + 1000).map((one, id) => message(method, one, id)));
		if (!Array.isArray(answers)) throw new RPCError(answers.error);
		for (const { result, error } of answers) {
			if (error) problem ??= new RPCError(error);
			else results.push(result);
		}
	}
	return { results, problem };
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
			changed += (await callEach(method, part.map((id) => ({ ids: [id], ...more })))).results.length;
		}
	}
	return changed;
}
