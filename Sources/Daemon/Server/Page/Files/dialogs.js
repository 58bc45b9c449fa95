// SPDX-License-Identifier: Apache-2.0
// The dialogs of the daemon's page: questions, limits and keys.
import { check, dialog, el, field, t, toast } from "/page/common.js";
import { call } from "/page/client.js";

/** Creates an input. */
export const input = (type, properties = {}) => el("input", { type, ...properties });

/** Creates a form that shows a refusal, and closes its dialog after success. */
export function form(content, action, submit) {
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

/**
 * Asks whether to perform an action on transfers with some names; resolves to whether it was confirmed, with the state of
 * an optional checkbox, or to `null`.
 */
export function confirm({ title, text, names, action, option }) {
	return new Promise((resolve) => {
		let answer = null;
		const box = option && check(option, {});
		const close = () => shown.close();
		const submit = (event) => {
			event.preventDefault();
			answer = { option: box?.firstChild.checked ?? false };
			close();
		};
		const content = el(
			"form",
			{ submit },
			el("ul", { className: "names" }, names.map((one) => el("li", {}, one))),
			el("p", {}, text),
			box,
			el(
				"div",
				{ className: "foot" },
				el("button", { type: "button", click: close }, t("cancel")),
				el("button", { className: "main danger", autofocus: true }, action),
			),
		);
		const shown = dialog(title, content, "confirm");
		shown.addEventListener("close", () => resolve(answer));
	});
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
				[el("div", { className: "pair" }, field(t("column.host"), hostName), field(t("connections"), hostCount, t("noLimit")))],
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
