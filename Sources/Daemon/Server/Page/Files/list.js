// SPDX-License-Identifier: Apache-2.0
// The list of transfers: the daemon filters, sorts and pages; only the visible rows are elements.
import { announce, byID, el, t } from "/page/common.js";
import { call, countOf, host, name, note, quantities, share } from "/page/client.js";

const rowHeight = 62;
const pageSize = 100;
const mostPages = 40;
/** The height beyond which browsers place elements wrongly; a longer list is scrolled in proportion. */
const mostHeight = 8_000_000;

/** Shows the transfers of a query in `#list`. */
export class TransferList {
	constructor({ open, changed, move, failed }) {
		Object.assign(this, { open, changed, move, failed });
		this.grid = byID("list");
		this.space = byID("space");
		this.query = { states: [], sort: "queue", isBackward: false, search: "", session: undefined };
		this.rows = [];
		/** The programs of the sessions, by the session's name. */
		this.programs = new Map();
		this.selected = new Set();
		this.isAllSelected = false;
		this.current = -1;
		/** The milliseconds that the last reading took; the page reads expensive lists less often. */
		this.cost = 0;
		this.clear();
		this.grid.addEventListener("scroll", () => this.schedule(), { passive: true });
		this.grid.addEventListener("keydown", (event) => this.pressed(event));
		this.grid.addEventListener("focus", () => this.current < 0 && this.total > 0 && this.go(0));
		this.space.addEventListener("click", (event) => this.clicked(event));
		this.space.addEventListener("dblclick", (event) => this.openAt(event));
		for (const kind of ["pointerdown", "pointermove", "pointerup", "pointercancel"]) {
			this.space.addEventListener(kind, (event) => this.pointed(event));
		}
		for (const kind of ["touchmove", "contextmenu"]) {
			this.space.addEventListener(kind, (event) => this.held && event.preventDefault(), { passive: false });
		}
		new ResizeObserver(() => this.schedule()).observe(this.grid);
	}

	// The data.

	clear() {
		this.pages = new Map();
		this.known = new Map();
		this.total = 0;
		this.version = (this.version ?? 0) + 1;
	}

	/** Shows another query, from the top. */
	show(changes) {
		Object.assign(this.query, changes);
		this.clear();
		this.select([]);
		this.current = -1;
		this.grid.scrollTop = 0;
		return this.refresh();
	}

	parameters() {
		const { states, sort, search, session } = this.query;
		const parameters = { states, sort };
		if (search) parameters.search = search;
		if (session !== undefined) parameters.session = session;
		return parameters;
	}

	/** Reads the counts and the visible pages again. */
	async refresh() {
		const version = this.version;
		const { search, session } = this.parameters();
		const counts = await call("counts", { ...(search && { search }), ...(session !== undefined && { session }) });
		if (version !== this.version) return;
		const states = this.query.states.length ? this.query.states : Object.keys(counts).slice(0, 6);
		this.total = states.reduce((sum, state) => sum + countOf(counts, state), 0);
		this.changed(counts);
		byID("empty").hidden = this.total > 0;
		this.grid.setAttribute("aria-rowcount", this.total);
		this.space.style.height = `${Math.min(this.total * rowHeight, mostHeight)}px`;
		for (const page of this.pages.values()) page.isStale = true;
		this.render();
	}

	async load(number) {
		const old = this.pages.get(number);
		if (old && (old.isLoading || !old.isStale)) return;
		const page = old ?? { records: [] };
		page.isLoading = true;
		page.isStale = false;
		this.pages.set(number, page);
		const version = this.version;
		const begun = performance.now();
		const start = number * pageSize;
		const offset = this.query.isBackward ? -(start + 1) : start;
		try {
			const records = await call("list", { ...this.parameters(), offset, limit: pageSize });
			if (version !== this.version) return;
			this.cost = performance.now() - begun;
			page.records = records.map((record) => this.remember(record));
			this.forgetPages(number);
			if (this.awaited !== undefined && this.awaited === this.current && this.at(this.awaited)) this.selectCurrent();
		} catch {
			page.isStale = true;
			return;
		} finally {
			page.isLoading = false;
		}
		this.render();
	}

	remember(record) {
		const known = this.known.get(record.id);
		if (!known) this.known.set(record.id, record);
		else Object.assign(known, record);
		return known ?? record;
	}

	forgetPages(near) {
		if (this.pages.size <= mostPages) return;
		const numbers = [...this.pages.keys()].sort((one, other) => Math.abs(other - near) - Math.abs(one - near));
		for (const number of numbers.slice(0, this.pages.size - mostPages)) {
			for (const record of this.pages.get(number).records) this.known.delete(record.id);
			this.pages.delete(number);
		}
	}

	at(index) {
		return this.pages.get(Math.floor(index / pageSize))?.records[index % pageSize];
	}

	/** Takes new values of transfers from an event. */
	update(records) {
		for (const record of records) if (this.known.has(record.id)) Object.assign(this.known.get(record.id), record);
		this.schedule();
	}

	// The rows.

	schedule() {
		this.frame ??= requestAnimationFrame(() => {
			this.frame = undefined;
			this.render();
		});
	}

	/** The index of the first visible row, and the place of row 0 above the list's space. */
	window() {
		const height = this.grid.clientHeight;
		const whole = this.total * rowHeight;
		const top = this.grid.scrollTop;
		const scale = whole > mostHeight ? (whole - height) / (mostHeight - height) : 1;
		return { first: Math.floor((top * scale) / rowHeight), origin: top - top * scale, height, scale };
	}

	render() {
		const { first, origin, height } = this.window();
		const from = Math.max(0, first - 3);
		const to = Math.min(this.total, first + Math.ceil(height / rowHeight) + 4);
		while (this.rows.length < to - from) this.rows.push(this.newRow());
		const count = this.rows.length;
		const shown = new Set();
		for (let index = from; index < to; index += 1) {
			shown.add(index % count);
			this.fill(this.rows[index % count], index, origin);
		}
		this.rows.forEach((row, slot) => {
			const isHidden = !shown.has(slot);
			if (row.isHidden !== isHidden) row.element.hidden = row.isHidden = isHidden;
		});
		this.mark();
		// A list that is scrolled fast loads only the pages at which it stops.
		clearTimeout(this.loading);
		this.loading = setTimeout(() => this.loadPages(from, to), this.at(first) ? 0 : 50);
	}

	loadPages(from, to) {
		for (let number = Math.floor(from / pageSize); number * pageSize < to; number += 1) {
			const page = this.pages.get(number);
			if (!page || page.isStale) this.load(number);
		}
	}

	newRow() {
		const parts = { name: el("span"), state: el("span", { className: "state" }), sub: el("span"), side: el("span") };
		parts.fill = el("i");
		parts.element = el(
			"div",
			{ role: "row", className: "row", id: `row${this.rows.length}` },
			el("div", { role: "gridcell" }, el("p", {}, parts.name, parts.state), el("p", {}, parts.sub, parts.side)),
			el("div", { className: "bar", "aria-hidden": "true" }, parts.fill),
		);
		this.space.append(parts.element);
		return parts;
	}

	fill(row, index, origin) {
		const place = `translateY(${origin + index * rowHeight}px)`;
		if (row.place !== place) row.element.style.transform = row.place = place;
		const record = this.at(index);
		if (row.index !== index) {
			row.index = index;
			row.element.setAttribute("aria-rowindex", index + 1);
		}
		row.id = record?.id;
		const isSelected = String(this.isSelected(row.id));
		if (row.isSelected !== isSelected) row.element.setAttribute("aria-selected", (row.isSelected = isSelected));
		const part = record ? share(record) : 0;
		const [reason, kind] = record ? note(record) : ["", ""];
		const percent = part === null || record?.state === "finished" ? "" : ` ${Math.floor(part * 100)} %`;
		const set = (key, value, apply) => row[`old${key}`] !== value && apply((row[`old${key}`] = value));
		set("Name", record ? name(record) : "…", (text) => (row.name.textContent = text));
		set("Kind", record?.state ?? "", (state) => (row.element.dataset.state = state));
		const state = record ? `${t(`state.${record.state}`)}${percent}` : "";
		set("State", state, (text) => (row.state.textContent = text));
		const upload = record?.upload ? `↑ ${t("upload")}` : "";
		const sub = record ? [upload, this.programs.get(record.session), record.session, host(record), reason].filter(Boolean).join(" · ") : "";
		set("Sub", sub, (text) => (row.sub.textContent = text));
		set("Note", kind, (text) => (row.sub.className = text ? `note ${text}` : ""));
		set("Side", record ? quantities(record) : "", (text) => (row.side.textContent = text));
		set("Part", part ?? 0, (value) => (row.fill.style.transform = `scaleX(${value})`));
	}

	mark() {
		const row = this.rows.find((one) => !one.isHidden && one.index === this.current);
		if (row !== this.marked) {
			this.marked?.element.classList.remove("current");
			row?.element.classList.add("current");
			this.marked = row;
		}
		if (row) this.grid.setAttribute("aria-activedescendant", row.element.id);
		else this.grid.removeAttribute("aria-activedescendant");
	}

	// The selection.

	isSelected(id) {
		return this.isAllSelected || this.selected.has(id);
	}

	select(ids) {
		this.selected = new Set(ids);
		this.isAllSelected = false;
		this.changed();
		this.schedule();
	}

	selectAll() {
		this.isAllSelected = this.total > 0;
		this.selected.clear();
		this.changed();
		this.schedule();
		announce(t("selected", { n: this.count() }));
	}

	count() {
		return this.isAllSelected ? this.total : this.selected.size;
	}

	/** The selected transfers; those that are not loaded have only an identifier. */
	async selection() {
		if (this.isAllSelected) return this.range(0, this.total);
		return [...this.selected].map((id) => this.known.get(id) ?? { id });
	}

	/** Returns the transfers in a range of rows; those that are not loaded are read. */
	async range(start, end) {
		const found = [];
		while (start + found.length < end) {
			const place = start + found.length;
			const limit = Math.min(5000, end - place);
			const offset = this.query.isBackward ? -(place + 1) : place;
			const record = this.at(place);
			const page = record ? [record] : await call("list", { ...this.parameters(), offset, limit });
			found.push(...page);
			if (!page.length) break;
		}
		return found;
	}

	/** Selects the current row alone, once it is loaded. */
	selectCurrent() {
		const record = this.at(this.current);
		this.awaited = record ? undefined : this.current;
		this.select(record ? [record.id] : []);
	}

	toggle(id) {
		const ids = new Set(this.isAllSelected ? [] : this.selected);
		if (!ids.delete(id)) ids.add(id);
		this.select(ids);
	}

	/** Selects from the anchor to a row. */
	async extend(index) {
		const [from, to] = [this.anchor ?? index, index].sort((one, other) => one - other);
		const found = await this.range(from, to + 1).catch(this.failed);
		if (found) this.select(found.map(({ id }) => id));
	}

	// The keyboard and the pointer.

	/** Makes a row the current one, and scrolls it into view. */
	go(index) {
		this.current = Math.max(0, Math.min(this.total - 1, index));
		const { first, height, scale } = this.window();
		const top = this.current * rowHeight;
		if (this.current < first + 1) this.grid.scrollTop = top / scale;
		if (this.current >= first + Math.floor(height / rowHeight)) this.grid.scrollTop = Math.max(0, top + rowHeight - height) / scale;
		this.render();
	}

	pressed(event) {
		const page = Math.max(1, Math.floor(this.grid.clientHeight / rowHeight) - 1);
		const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
		const isCommand = event.ctrlKey || event.metaKey;
		const record = this.at(this.current);
		if (event.altKey && ["ArrowUp", "ArrowDown"].includes(event.key)) {
			const target = this.at(this.current + steps[event.key]);
			if (record && target) {
				this.move(record, target, event.key === "ArrowDown");
				this.current += steps[event.key];
			}
		} else if (event.key in steps && !event.altKey) {
			const before = this.current;
			this.go(before + steps[event.key]);
			if (event.shiftKey) {
				this.anchor ??= before;
				this.extend(this.current);
			} else {
				this.anchor = this.current;
				if (!isCommand) this.selectCurrent();
			}
		} else if (event.key === " " && record) {
			this.toggle(record.id);
		} else if (event.key === "Enter" && record) {
			this.open(record.id);
		} else if (event.key.toLowerCase() === "a" && isCommand) {
			this.selectAll();
		} else if (event.key === "Escape") {
			this.release();
			this.select([]);
		} else {
			return;
		}
		event.preventDefault();
	}

	rowOf(node) {
		const element = node?.closest?.(".row");
		return this.rows.find((row) => row.element === element);
	}

	clicked(event) {
		const row = this.rowOf(event.target);
		if (!row?.id || event.timeStamp - this.droppedAt < 400) return;
		const previous = this.current;
		this.current = row.index;
		if (event.shiftKey) {
			this.anchor ??= previous;
			this.extend(row.index);
		} else {
			this.anchor = row.index;
			if (event.ctrlKey || event.metaKey || event.pointerType === "touch") this.toggle(row.id);
			else this.select([row.id]);
		}
	}

	openAt(event) {
		const row = this.rowOf(event.target);
		if (row?.id) this.open(row.id);
	}

	/** Drags a row with the mouse, or by touch after a long press: before it, the browser scrolls. */
	pointed(event) {
		const { type, clientX: x, clientY: y } = event;
		if (type === "pointerdown") {
			const row = this.rowOf(event.target);
			const isOrdered = this.query.sort === "queue" && !this.query.isBackward;
			this.press = row?.id && isOrdered && event.isPrimary && !event.button ? { x, y, row } : undefined;
			if (this.press && event.pointerType !== "mouse") this.pressing = setTimeout(() => this.hold(event), 450);
		} else if (type === "pointermove" && this.press) {
			if (!this.held && Math.hypot(x - this.press.x, y - this.press.y) > 8) {
				if (event.pointerType === "mouse") this.hold(event);
				else this.release();
			}
			if (this.held) this.aim(x, y);
		} else if (type !== "pointermove") {
			const { held, place } = this;
			if (held) this.droppedAt = event.timeStamp;
			this.release();
			if (held && place && type === "pointerup") this.move(held, ...place);
		}
	}

	/** Starts to drag the pressed row; the list scrolls while the pointer is near an edge. */
	hold({ pointerId }) {
		const { row } = this.press;
		this.held = this.known.get(row.id);
		this.space.setPointerCapture(pointerId);
		row.element.classList.add("held");
		this.rolling = setInterval(() => {
			const { top, bottom } = this.grid.getBoundingClientRect();
			if (this.y < top + 40) this.grid.scrollTop -= 20;
			if (this.y > bottom - 40) this.grid.scrollTop += 20;
		}, 50);
	}

	/** Marks where the held transfer would be dropped. */
	aim(x, y) {
		this.y = y;
		this.dropMark?.classList.remove("before", "after");
		const row = this.rowOf(document.elementFromPoint(x, y));
		const target = row && this.known.get(row.id);
		if (!target || target === this.held) return (this.place = undefined);
		const box = row.element.getBoundingClientRect();
		const isAfter = y > box.top + box.height / 2;
		this.place = [target, isAfter];
		this.dropMark = row.element;
		return row.element.classList.add(isAfter ? "after" : "before");
	}

	/** Ends the press, and dragging. */
	release() {
		clearTimeout(this.pressing);
		clearInterval(this.rolling);
		this.press?.row.element.classList.remove("held");
		this.dropMark?.classList.remove("before", "after");
		this.press = this.held = this.place = this.y = undefined;
	}
}
