// SPDX-License-Identifier: Apache-2.0
// Sends one file by tus 1.0, resumed from the server's offset; finds what is already there.
import { t } from "./common.js";

/** The URL of the served directory. */
export const root = new URL("..", import.meta.url);
const { may, path: here } = document.body.dataset;
/** Whether the visitor has a right, or the receiver an option. */
export const can = (word) => may.split(" ").includes(word);
/** The files up to this size are sent by one request, and not remembered. */
const small = 1 << 20;
const prefix = `martlet ${root.pathname} ${here}\n`;

/** Why a file was not sent: an HTTP status, 0 for a lost connection, or `conflict`, `unreadable`. */
export class Problem extends Error {
	constructor(status, text, patience) {
		super(t(`status.${status}`) === `status.${status}` ? text || t("status.other", { n: String(status) }) : t(`status.${status}`));
		Object.assign(this, { status, patience });
		this.passes = status === 0 || status === 423 || status === 429 || (status >= 500 && status !== 507);
	}
}

// Which uploads are unfinished, also after a reload.

const store = (action) => {
	try {
		return action(localStorage);
	} catch {
		return undefined;
	}
};
const key = ({ path, file }) => `${prefix}${path}\n${file.size}\n${file.lastModified}`;
/** The unfinished uploads of earlier visits: their paths and URLs. */
export const unfinished = () => store(Object.keys)?.filter((name) => name.startsWith(prefix)).map((name) => {
	return { path: name.split("\n")[1], url: localStorage[name], forget: () => delete localStorage[name] };
}) ?? [];
/** The number of files that were not sent when the page was closed. */
export const rest = (count) => store((all) => {
	const name = `rest ${prefix}`;
	if (count === undefined) return Number(all[name] ?? 0);
	return count ? (all[name] = count) : delete all[name];
});

function remember(item, url) {
	item.url = url;
	store((all) => (url && item.file.size > small ? (all[key(item)] = url) : delete all[key(item)]));
}

// Requests.

const wakers = new Set();
addEventListener("online", () => wakers.forEach((wake) => wake()));
function pause(item, seconds) {
	return new Promise((resolve) => {
		const wake = () => {
			clearTimeout(timer);
			wakers.delete(wake);
			resolve();
		};
		const timer = setTimeout(wake, seconds * 1000);
		wakers.add((item.wake = wake));
	});
}

function request(item, method, url, fields = {}, body = null) {
	return new Promise((resolve, reject) => {
		const xhr = (item.xhr = new XMLHttpRequest());
		const start = item.sent;
		item.moved = Date.now();
		xhr.open(method, url);
		for (const [name, value] of Object.entries({ "Tus-Resumable": "1.0.0", ...fields })) xhr.setRequestHeader(name, value);
		xhr.upload.onprogress = ({ loaded }) => {
			item.sent = start + loaded;
			item.moved = Date.now();
			item.tries = 0;
		};
		xhr.onloadend = () => {
			if (xhr.status >= 200 && xhr.status < 300) return resolve(xhr);
			return reject(new Problem(xhr.status, xhr.responseText.trim(), Number(xhr.getResponseHeader("Retry-After"))));
		};
		xhr.send(body);
	});
}

async function read(url, options) {
	const response = await fetch(url, { cache: "no-store", ...options }).catch(() => {
		throw new Problem(0);
	});
	if (!response.ok && response.status !== 404) throw new Problem(response.status, "", Number(response.headers.get("Retry-After")));
	return response;
}

// What is already there.

const target = (path) => new URL(here.slice(1) + path.split("/").map(encodeURIComponent).join("/"), root).pathname;
const folder = (path) => path.slice(0, path.lastIndexOf("/") + 1);
let listings = new Map();
/** Forgets which files are there. */
export const refresh = () => (listings = new Map());

async function names(path) {
	const response = await read(target(path), { headers: { Accept: "application/json" } });
	const { entries, truncated } = response.ok ? await response.json() : { entries: [] };
	return truncated ? undefined : new Set(entries.map(({ name }) => name));
}

/** Whether a name may be taken. */
async function isTaken(path) {
	if (!can("list")) return can("read");
	const parent = folder(path);
	if (!listings.has(parent)) listings.set(parent, names(parent).catch((error) => {
		listings.delete(parent);
		throw error;
	}));
	return (await listings.get(parent))?.has(path.slice(parent.length)) ?? true;
}

let worker;
function digest(file) {
	worker ??= new Worker(new URL("hash.js", import.meta.url), { type: "module" });
	return new Promise((resolve) => {
		const { port1, port2 } = new MessageChannel();
		port1.onmessage = ({ data }) => resolve(data);
		worker.postMessage(file, [port2]);
	});
}

/** Returns whether a file with the same content is there; throws `conflict` if it has another one. */
async function isThere(item) {
	if (!(await isTaken(item.path))) return false;
	let own;
	// The server computes the digests of large files in the background.
	for (let tries = 0; tries < 300; tries += 1) {
		const response = await read(target(item.path), { method: "HEAD", headers: { "Want-Repr-Digest": "sha-256=10" } });
		if (!response.ok) return false;
		if (Number(response.headers.get("Content-Length") ?? 0) !== item.file.size || !response.url.endsWith(target(item.path))) break;
		item.isCompared = true;
		own ??= await digest(item.file);
		const found = response.headers.get("Repr-Digest");
		if (found) {
			if (found === `sha-256=:${own}:`) return true;
			break;
		}
		await pause(item, 2);
		if (item.isCancelled) break;
	}
	throw new Problem("conflict");
}

/** Gives a file another name, `a (2).txt`, that is free as far as is known. */
export async function rename(item) {
	const [, stem, number = 1, ending] = item.path.match(/^(.*?)(?: \((\d+)\))?(\.[^./]*)?$/s);
	item.path = `${stem} (${Number(number) + 1})${ending ?? ""}`;
	if (can("list") && (await isTaken(item.path))) await rename(item);
}

// Sending.

const base64 = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
const content = { "Content-Type": "application/offset+octet-stream" };

async function create(item) {
	const { file, path } = item;
	item.sent = 0;
	// The response to a single request can be lost; then the content is compared, or the upload must have a URL.
	const isSingle = file.size <= small && can("read");
	const fields = { "Upload-Length": file.size, "Upload-Metadata": `filename ${base64(path.slice(folder(path).length))}` };
	const xhr = await request(item, "POST", target(folder(path)), { ...fields, ...(isSingle && content) }, isSingle ? file : null);
	remember(item, new URL(xhr.getResponseHeader("Location"), location).pathname);
	return xhr;
}

async function attempt(item) {
	const { file } = item;
	let xhr;
	item.url ??= store((all) => all[key(item)]);
	if (item.url) {
		xhr = await request(item, "HEAD", item.url).catch((error) => {
			if (error.status !== 404 && error.status !== 410) throw error;
			remember(item);
		});
	}
	if (!item.url) {
		if (!item.isForced && (await isThere(item))) return false;
		xhr = await create(item);
	}
	for (;;) {
		item.sent = Number(xhr.getResponseHeader("Upload-Offset") ?? 0);
		if (item.sent >= file.size && (file.size > 0 || xhr.getResponseHeader("Upload-Offset"))) break;
		xhr = await request(item, "PATCH", item.url, { ...content, "Upload-Offset": item.sent }, file.slice(item.sent));
	}
	remember(item);
	item.link = xhr.getResponseHeader("Share-Link");
	return true;
}

/** Sends a file, for as long as it takes. Returns false if it was already there; throws a `Problem`. */
export async function send(item) {
	for (item.tries = 0; ; item.tries += 1) {
		try {
			return await attempt(item);
		} catch (error) {
			if (item.isCancelled) throw error;
			if (error.status === 0 && item.file.size) {
				// A file that cannot be read looks like a lost connection.
				await item.file.slice(0, 1).arrayBuffer().catch(() => {
					throw new Problem("unreadable");
				});
			} else if (error.status === 409) {
				refresh();
				const isOffset = item.url && item.tries < 3;
				if (!isOffset) {
					remember(item);
					if (item.isForced || !can("read") || item.tries > 5) throw new Problem("conflict");
				}
			} else if (!error.passes) {
				throw error;
			}
			item.isWaiting = true;
			await pause(item, error.patience || Math.min(30, 2 ** item.tries / 2) * (0.75 + Math.random() / 2));
			item.isWaiting = false;
			if (item.isCancelled) throw error;
		}
	}
}

/** Ends the sending of a file; what the server has of it is removed. */
export async function cancel(item) {
	item.isCancelled = true;
	item.xhr?.abort();
	item.wake?.();
	const { url } = item;
	remember(item);
	// 423: the request that was ended still runs on the server.
	for (let tries = 0; url && tries < 9; tries += 1) {
		const problem = await request({ sent: 0 }, "DELETE", url).then(() => null, (error) => error);
		if (!problem?.passes) return;
		await pause({}, 1);
	}
}

/** Ends a request that has not moved for a long time: its connection may be dead. */
export function watch(item) {
	if (Date.now() - item.moved > 90_000 && item.xhr?.readyState < 4) item.xhr.abort();
}
