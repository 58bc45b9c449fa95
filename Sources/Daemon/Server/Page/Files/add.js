// SPDX-License-Identifier: Apache-2.0
// Adding transfers: the dialog, and files that are dropped or chosen.
import { bytes, check, dialog, el, field, t } from "/page/common.js";
import { call } from "/page/client.js";
import { form, input } from "/page/dialogs.js";

/** The largest list that is read. */
const mostBytes = 2 << 20;

/** Reads a list of transfers, one per line, with mirrors after tabs; `#` begins a comment. */
export function parseList(text) {
	const entries = [];
	let refused = 0;
	for (const line of text.split(/\r\n|\r|\n/)) {
		const urls = line.split(/\s+/).filter(Boolean);
		if (!urls.length || urls[0].startsWith("#")) continue;
		if (urls.every((url) => /^https?:\/\/[^/]/i.test(url))) entries.push(urls);
		else refused += 1;
	}
	return { entries, refused };
}

/** Returns the path that a text is: of one line, absolute or as a URL of a file. */
export function pathIn(text) {
	const line = text.trim();
	if (/[\r\n]/.test(line)) return "";
	if (/^file:\/\//i.test(line)) return decodeURIComponent(new URL(line).pathname);
	return line.startsWith("/") ? line : "";
}

/** Whether a file can be a list of URLs, by its type and name. */
const isList = ({ type, name }) => type.startsWith("text/") || /\.(txt|lst|list|urls?)$/i.test(name);

/** Reads the lists among some files; the others, and lists that are too large, are never read. */
export async function readLists(files) {
	const all = [...files];
	const lists = all.filter(isList);
	const large = lists.find(({ size }) => size > mostBytes);
	if (large) throw new Error(t("largeList", { name: large.name, most: bytes(mostBytes) }));
	const texts = await Promise.all(lists.map((file) => file.text()));
	return { text: texts.join("\n"), others: all.filter((file) => !isList(file)) };
}

/** Opens the form that adds transfers; with a path as a form that uploads its file. */
export function addDialog({ text = "", path: given = "", hint = "" }, { added }) {
	const urls = el("textarea", { id: "urls", rows: 5, value: text, spellcheck: false, required: true, autofocus: true });
	const file = input("file", { accept: "text/*,.txt,.lst,.list,.urls" });
	const options = {
		dir: input("text", { spellcheck: false }),
		out: input("text", { spellcheck: false }),
		checksum: input("text", { spellcheck: false, placeholder: "sha-256=…" }),
		"max-download-limit": input("text", { placeholder: "500K, 2M" }),
		priority: input("number", { step: 1, placeholder: "0" }),
	};
	const headers = el("textarea", { rows: 2, spellcheck: false, placeholder: "Referer: https://example.org/" });
	const paused = check(t("addPaused"), {});
	const path = input("text", { id: "path", spellcheck: false });
	const method = el("select", {}, ["PUT", "POST"].map((value) => el("option", {}, value)));
	const onlyUpload = el("div", { className: "pair", hidden: true }, field(t("path"), path, hint), field(t("method"), method));
	const label = (key) => t(key === "out" ? "column.name" : `option.${key}`);
	const labels = Object.fromEntries(Object.keys(options).map((key) => [key, field(label(key), options[key])]));
	const fromFile = field(t("fromFile"), file);
	const upload = check(t("uploadFile"), { change: () => show() });
	const box = upload.firstChild;
	const links = field(t("urls"), urls, t("urlsHelp"));
	const sender = el("button", { type: "button", click: send }, t("sendIt"));
	const offer = el("p", { className: "offer", hidden: true }, t("isPath"), " ", sender);
	const more = el(
		"details",
		{ id: "more" },
		el("summary", {}, t("moreOptions")),
		upload,
		fromFile,
		el("div", { className: "pair" }, Object.values(labels)),
		field(t("headers"), headers, t("headersHelp")),
		paused,
	);
	const shown = dialog(t("addTitle"), form([links, offer, onlyUpload, more], t("add"), submit), "add-dialog");
	file.addEventListener("change", () => {
		readLists(file.files).then(
			(found) => (urls.value = [urls.value.trimEnd(), found.text].filter(Boolean).join("\n")),
			(error) => (shown.querySelector("[role=alert]").textContent = error.message),
		);
	});
	urls.addEventListener("input", () => (offer.hidden = box.checked || !pathIn(urls.value)));
	call("daemon").then(({ dir }) => (options.dir.placeholder = path.placeholder = dir), () => {});
	if (given) begin(given);

	function show() {
		onlyUpload.hidden = !(path.required = box.checked);
		for (const one of [fromFile, labels.dir, labels.out, labels.checksum]) one.hidden = box.checked;
		links.firstChild.textContent = t(box.checked ? "uploadURL" : "urls");
		links.lastChild.hidden = box.checked;
		urls.rows = box.checked ? 1 : 5;
	}

	/** Sends a file instead of receiving some. */
	function begin(name) {
		path.value = name;
		box.checked = true;
		show();
	}

	function send() {
		begin(pathIn(urls.value));
		urls.value = "";
		offer.hidden = true;
		urls.focus();
	}

	async function submit(problem) {
		const { entries, refused } = parseList(urls.value);
		if (refused) return (problem.textContent = t("refused", { n: refused }));
		if (!entries.length) return (problem.textContent = t("noURL"));
		const chosen = {};
		for (const [key, { value }] of Object.entries(options)) {
			if (value.trim() && !labels[key].hidden) chosen[key] = value.trim();
		}
		const isOne = box.checked || chosen.out || chosen.checksum;
		if (entries.length > 1 && isOne) return (problem.textContent = t("onlyOne"));
		const lines = headers.value.split("\n").map((line) => line.trim()).filter(Boolean);
		if (lines.length) chosen.header = lines;
		let content;
		if (box.checked) {
			const name = path.value.trim();
			content = { file: name.startsWith("/") ? name : `${path.placeholder}/${name}` };
			chosen.method = method.value;
			chosen["max-upload-limit"] = chosen["max-download-limit"];
			delete chosen["max-download-limit"];
		}
		const other = { options: chosen, paused: paused.firstChild.checked, upload: content };
		for (let start = 0; start < entries.length; start += 1000) {
			await call("add", { entries: entries.slice(start, start + 1000).map((one) => ({ urls: one, ...other })) });
		}
		shown.close();
		return added(entries.length);
	}
}
