// SPDX-License-Identifier: Apache-2.0
// The dialogs of the daemon's page: adding, details, limits and keys.
import { byID, bytes, check, clock, dialog, duration, el, field, moment, t, toast } from "/page/common.js";
import { call, name, note, quantities, share } from "/page/client.js";

const input = (type, properties = {}) => el("input", { type, ...properties });

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

/** Creates a form that shows a refusal, and closes its dialog after success. */
function form(content, action, submit) {
	const problem = el("p", { className: "bad", role: "alert" });
	const button = el("button", { className: "main" }, action);
	const element = el("form", {}, content, problem, el("div", { className: "foot" }, button));
	element.addEventListener("submit", async (event) => {
		event.preventDefault();
		problem.textContent = "";
		button.disabled = true;
		try {
			await submit(problem);
		} catch (error) {
			problem.textContent = error.message;
		}
		button.disabled = false;
	});
	return element;
}

/** Opens the form that adds transfers. */
export function addDialog(text, { added }) {
	const urls = el("textarea", { id: "urls", rows: 6, value: text, spellcheck: false, required: true, autofocus: true });
	const file = input("file", { accept: "text/*,.txt,.lst,.list" });
	file.addEventListener("change", async () => {
		const texts = await Promise.all([...file.files].map((one) => one.text()));
		urls.value = [urls.value.trimEnd(), ...texts].filter(Boolean).join("\n");
	});
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
	const onlyUpload = el("div", { className: "pair", hidden: true }, field(t("path"), path), field(t("method"), method));
	const labels = Object.fromEntries(Object.keys(options).map((key) => [key, field(t(`option.${key}`), options[key])]));
	const fromFile = field(t("fromFile"), file);
	const upload = check(t("upload"), { change: ({ target: { checked } }) => {
		onlyUpload.hidden = !(path.required = checked);
		for (const one of [fromFile, labels.dir, labels.out, labels.checksum]) one.hidden = checked;
	} });
	const content = [
		upload,
		field(t("urls"), urls, t("urlsHelp")),
		onlyUpload,
		fromFile,
		el("div", { className: "pair" }, Object.values(labels)),
		field(t("headers"), headers, t("headersHelp")),
		paused,
	];
	const shown = dialog(t("addTitle"), form(content, t("add"), submit), "add-dialog");
	call("daemon").then(({ dir }) => (options.dir.placeholder = path.placeholder = dir), () => {});

	async function submit(problem) {
		const { entries, refused } = parseList(urls.value);
		if (refused) return (problem.textContent = t("refused", { n: refused }));
		if (!entries.length) return (problem.textContent = t("noURL"));
		const chosen = {};
		for (const [key, { value }] of Object.entries(options)) if (value.trim() && !labels[key].hidden) chosen[key] = value.trim();
		const isUpload = path.required;
		if (entries.length > 1 && (isUpload || chosen.out || chosen.checksum)) return (problem.textContent = t("onlyOne"));
		const lines = headers.value.split("\n").map((line) => line.trim()).filter(Boolean);
		if (lines.length) chosen.header = lines;
		let content;
		if (isUpload) {
			const file = path.value.trim();
			content = { file: file.startsWith("/") ? file : `${path.placeholder}/${file}` };
			chosen.method = method.value;
			chosen["max-upload-limit"] = chosen["max-download-limit"];
			delete chosen["max-download-limit"];
		}
		const more = { options: chosen, paused: paused.firstChild.checked, upload: content };
		for (let start = 0; start < entries.length; start += 1000) {
			await call("add", { entries: entries.slice(start, start + 1000).map((one) => ({ urls: one, ...more })) });
		}
		shown.close();
		return added(entries.length);
	}
}

const row = (label, value) => {
	if (value === "" || value === null || value === undefined) return [];
	return [el("dt", {}, t(label)), el("dd", {}, value)];
};

const time = (at) => at && moment(at);

/** The facts of a transfer, as a list of terms. */
function facts(record) {
	const part = share(record);
	const [reason] = note(record);
	const state = `${t(`state.${record.state}`)}${part !== null && part < 1 ? ` ${Math.floor(part * 100)} %` : ""}`;
	const options = Object.entries(record.options).map(([key, value]) => `${key}=${[].concat(value).join("; ")}`);
	return el(
		"dl",
		{},
		row("stateLabel", state),
		row("reason", reason && el("span", { className: record.state === "failed" ? "bad" : "" }, reason)),
		row("remedy", record.error?.remedy),
		row("progress", quantities(record)),
		row("connections", record.state === "active" ? String(record.connections) : ""),
		row(record.upload ? "sends" : "file", record.upload?.file ?? record.path ?? record.dir),
		row("sessionLabel", record.session),
		row("place", record.position === null ? "" : String(record.position + 1)),
		row("addedAt", time(record.added)),
		row("startedAt", time(record.details.started)),
		row("endedAt", time(record.ended)),
		row("identifier", record.id),
		row("links", el("ul", {}, record.urls.map((url) => el("li", {}, url)))),
		row("options", options.length ? el("ul", {}, options.map((one) => el("li", {}, one))) : ""),
	);
}

/** The attempts, the last response and the log of a transfer, as texts. */
function histories({ attempts, response, log }) {
	const line = (at, ...parts) => [moment(at), ...parts.filter(Boolean)].join(" · ");
	const lines = attempts.map((one) => {
		const time = one.ended ? duration(one.ended - one.started) : "…";
		const next = one.nextTry && `→ ${clock(one.nextTry)}`;
		return line(one.started, one.url, one.status, one.ended && bytes(one.bytes), one.outcome, time, one.message, next);
	});
	const fields = (response?.fields ?? []).map(([key, value]) => `${key}: ${value ?? "•••"}`);
	return [lines, response ? [line(response.at, response.status), ...fields] : [], log.map(({ at, text }) => line(at, text))];
}

/** Opens the details of a transfer, which are read again every second. */
export async function detailsDialog(id, { changed }) {
	let [record] = await call("show", { ids: [id], details: true });
	const facets = ["attempts", "response", "log"].map((key) => el("details", {}, el("summary", {}, t(key)), el("pre")));
	const holder = el("div");
	const fill = () => {
		holder.replaceChildren(facts(record));
		histories(record.details).forEach((lines, index) => {
			const { lastChild: shown } = facets[index];
			facets[index].hidden = !lines.length;
			// An unchanged text may be being selected.
			if (shown.textContent !== lines.join("\n")) shown.textContent = lines.join("\n");
		});
	};
	fill();
	const isEnded = record.ended !== null && record.state !== "paused";
	const content = [holder, ...facets];
	if (!record.upload && record.state !== "finished") {
		const links = el("textarea", { id: "links", rows: 3, spellcheck: false, required: true, value: record.urls.join("\n") });
		const replace = async (problem) => {
			const { entries, refused } = parseList(links.value);
			if (refused || !entries.length) return (problem.textContent = t("refused", { n: Math.max(refused, 1) }));
			await call("replaceURI", { id, urls: entries.flat() });
			if (["failed", "removed"].includes(record.state)) await call("retry", { ids: [id] });
			return done(t("replaced"));
		};
		content.push(el("h3", {}, t("newLink")), form([field(t("urls"), links, t("newLinkHelp"))], t("replace"), replace));
	}
	if (!isEnded) {
		const priority = input("number", { value: record.priority, step: 1, required: true });
		const limitName = record.upload ? "max-upload-limit" : "max-download-limit";
		const limit = input("text", { value: record.options[limitName] ?? "", placeholder: "500K, 2M" });
		const change = async () => {
			await call("setPriority", { ids: [id], priority: Number(priority.value) });
			if (limit.value.trim() !== (record.options[limitName] ?? "")) {
				await call("setOptions", { id, options: { [limitName]: limit.value.trim() || "0" } });
			}
			done(t("saved"));
		};
		const fields = [field(t("option.priority"), priority), field(t("option.max-download-limit"), limit)];
		const place = (how) => async () => {
			await call("move", { id, position: 0, how }).then(() => done(t("saved")), ({ message }) => toast(message));
		};
		const button = (text, how) => el("button", { type: "button", click: place(how) }, text);
		content.push(
			el("h3", {}, t("change")),
			form(
				[el("div", { className: "pair" }, fields), button(t("first"), "POS_SET"), " ", button(t("last"), "POS_END")],
				t("save"),
				change,
			),
		);
	}
	const shown = dialog(name(record), content, "details");
	const timer = setInterval(async () => {
		try {
			[record] = await call("show", { ids: [id], details: true });
			fill();
		} catch {
			// The transfer has left the history, or the page says that it is disconnected.
		}
	}, 1000);
	shown.addEventListener("close", () => {
		clearInterval(timer);
		byID("list").focus();
	});

	function done(text) {
		shown.close();
		toast(text);
		changed();
	}
}

const globals = ["max-overall-download-limit", "max-download-limit", "max-upload-limit", "max-concurrent-downloads"];
const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/** Opens the limits, the schedule and the settings of the page. */
export async function limitsDialog({ signOut }) {
	const { options, hosts, schedule } = await call("limits");
	const shownLimit = (key) => (options[key] === "0" ? "" : (options[key] ?? ""));
	const inputs = Object.fromEntries(globals.map((key) => [key, input("text", { value: shownLimit(key), placeholder: "0" })]));
	const limits = async () => {
		const changed = globals.filter((key) => inputs[key].value.trim() !== shownLimit(key));
		const values = Object.fromEntries(changed.map((key) => [key, inputs[key].value.trim() || "0"]));
		if (changed.length) await call("setLimits", { options: values });
		done();
	};
	const hostName = input("text", { required: true, spellcheck: false });
	const hostCount = input("number", { min: 1, max: 10000 });
	const limitHost = async () => {
		await call("setHostLimit", { host: hostName.value.trim(), connections: Number(hostCount.value) || null });
		done();
	};
	const from = input("time", { value: schedule?.start ?? "" });
	const until = input("time", { value: schedule?.end ?? "" });
	const week = new Intl.DateTimeFormat(document.documentElement.lang, { weekday: "short", timeZone: "UTC" });
	const boxes = days.map((day, index) => {
		return check(week.format(new Date(Date.UTC(2024, 0, 1 + index))), { value: day, checked: schedule?.days.includes(day) });
	});
	const plan = async (problem) => {
		if (!from.value !== !until.value) return (problem.textContent = t("bothTimes"));
		const chosen = boxes.map((box) => box.firstChild).filter((box) => box.checked).map((box) => box.value);
		await call("schedule", from.value ? { start: from.value, end: until.value, days: chosen } : {});
		return done();
	};
	const notify = check(t("notify"), { checked: Boolean(localStorage.notify), change: allow });
	async function allow({ target }) {
		const isAllowed = target.checked && (await globalThis.Notification?.requestPermission()) === "granted";
		if (target.checked && !isAllowed) toast(t("notAllowed"));
		target.checked = isAllowed;
		if (isAllowed) localStorage.notify = "yes";
		else localStorage.removeItem("notify");
	}
	const listed = Object.entries(hosts).map(([one, count]) => el("li", {}, t("hostLimit", { host: one, n: count })));
	const shown = dialog(
		t("limits"),
		[
			form([el("div", { className: "pair" }, globals.map((key) => field(t(`global.${key}`), inputs[key])))], t("save"), limits),
			el("h3", {}, t("hostLimits")),
			listed.length > 0 && el("ul", {}, listed),
			form(
				[el("div", { className: "pair" }, field(t("host"), hostName), field(t("connections"), hostCount, t("noLimit")))],
				t("save"),
				limitHost,
			),
			el("h3", {}, t("schedule")),
			form(
				[
					el("p", { className: "soft" }, t("scheduleHelp")),
					el("div", { className: "pair" }, field(t("from"), from), field(t("until"), until)),
					el("fieldset", {}, el("legend", {}, t("days")), boxes),
				],
				t("save"),
				plan,
			),
			el("h3", {}, t("page")),
			notify,
			el("div", { className: "foot" }, el("button", { type: "button", click: signOut }, t("signOut"))),
		],
		"limits-dialog",
	);

	function done() {
		shown.close();
		toast(t("saved"));
	}
}

/** Opens the list of keys. */
export function helpDialog() {
	const keys = [
		["n", "add"], ["/", "search"], ["↑ ↓ PgUp PgDn Home End", "keys.move"], ["Shift+↑ ↓", "keys.extend"],
		["Space", "keys.toggle"], ["Ctrl+A", "selectAll"], ["Enter", "details"], ["Alt+↑ ↓", "keys.reorder"], ["p", "pause"],
		["r", "resume"], ["t", "retry"], ["Delete", "remove"], ["f", "forget"], ["Esc", "keys.none"], ["?", "help"],
	];
	const rows = keys.flatMap(([key, text]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, t(text))]);
	dialog(t("help"), [el("p", { className: "soft" }, t("helpText")), el("dl", {}, rows)], "help-dialog");
}
