// SPDX-License-Identifier: Apache-2.0
// The elements of a row: cells of a table on wide screens, two lines and a bar on narrow ones.
import { duration, el, rate, t } from "/page/common.js";
import { host, name, note, percent, quantities, rateOf, secondsLeft, share, size } from "/page/transfer.js";

/** The columns: key, and whether they are sorted downwards first. */
export const columns = [
	["name", false], ["progress", true], ["size", true], ["rate", true], ["left", false], ["host", false], ["state", false],
];

/** Whether the list is a table. */
export const wide = matchMedia("(min-width: 900px)");

/** The height of a row in pixels, as in the style sheet. */
export const rowHeight = () => (wide.matches ? 38 : 60);

/** Creates the heads of the columns; a press reports the column's key. */
export function makeHeads(press) {
	return columns.map(([key], index) => {
		const button = el("button", { click: () => press(key) }, t(`column.${key}`));
		return el("div", { role: "columnheader", "aria-colindex": index + 1, className: `c-${key}` }, button);
	});
}

/** A row, which shows one transfer after another. */
export class Row {
	constructor(number) {
		const span = (className) => el("span", { className });
		const cell = (key, ...content) => {
			const index = columns.findIndex(([column]) => column === key) + 1;
			return el("div", { role: "gridcell", "aria-colindex": index, className: `c-${key}` }, content);
		};
		Object.assign(this, { name: span("name"), tag: span("tag"), state: span("state"), host: span("host") });
		this.fill = el("i");
		Object.assign(this, { size: span(), sizes: span("sizes narrow"), rate: span(), left: span() });
		// Shown in one of two places each, by the style sheet.
		Object.assign(this, { part: span("part wide"), part2: span("part2 narrow") });
		Object.assign(this, { note: span("note wide"), note2: span("note narrow") });
		this.element = el(
			"div",
			{ role: "row", className: "row", id: `row${number}` },
			el("div", { role: "presentation", className: "line" },
				cell("name", this.name, this.tag), cell("state", this.state, this.part2, this.note)),
			el("div", { role: "presentation", className: "line" },
				cell("host", this.host, this.note2),
				cell("size", this.size, this.sizes), cell("rate", this.rate), cell("left", this.left)),
			cell("progress", el("span", { className: "bar", "aria-hidden": "true" }, this.fill), this.part),
		);
		this.old = {};
	}

	/** Calls a function if a value has changed. */
	set(key, value, apply) {
		if (this.old[key] === value) return;
		this.old[key] = value;
		apply(value);
	}

	hide(isHidden) {
		this.isHidden = isHidden;
		this.set("hidden", isHidden, () => (this.element.hidden = isHidden));
	}

	/** Shows a transfer, or a place whose transfer is not loaded. */
	show(record, index, top, isSelected, program) {
		const { element } = this;
		this.index = index;
		this.id = record?.id;
		this.set("top", top, () => (element.style.transform = `translateY(${top}px)`));
		// The heads are the first row.
		this.set("index", index, () => element.setAttribute("aria-rowindex", index + 2));
		this.set("selected", isSelected, () => element.setAttribute("aria-selected", isSelected));
		const [reason, kind] = record ? note(record) : ["", ""];
		const text = (key, value) => this.set(key, value, () => (this[key].textContent = value));
		const part = record ? share(record) : 0;
		this.set("kind", record?.state ?? "", (state) => (element.dataset.state = state));
		text("name", record ? name(record) : "…");
		const origin = record ? [record.upload && `↑ ${t("upload")}`, program, record.session] : [];
		text("tag", origin.filter(Boolean).join(" · "));
		text("state", record ? t(`state.${record.state}`) : "");
		for (const key of ["part", "part2"]) text(key, record ? percent(record) : "");
		for (const key of ["note", "note2"]) text(key, reason);
		this.set("warning", kind, () => element.classList.toggle("warn", kind === "warn"));
		this.set("title", reason, () => (element.title = reason));
		text("host", record ? host(record) : "");
		text("size", record ? size(record) : "");
		text("sizes", record ? quantities(record) : "");
		const [now, left] = record ? [rateOf(record), secondsLeft(record)] : [null, null];
		text("rate", now === null ? "" : rate(now));
		text("left", left === null ? "" : duration(left));
		this.set("share", part, () => (this.fill.style.transform = `scaleX(${part ?? 1})`));
		this.set("unknown", part === null, () => element.classList.toggle("unknown", part === null));
	}
}
