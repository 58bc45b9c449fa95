// SPDX-License-Identifier: Apache-2.0
// The list of transfers: the daemon filters, sorts and pages; only the visible rows are elements.
import { announce, byID, t } from "/page/common.js";
import { call } from "/page/client.js";
import { Drag } from "/page/drag.js";
import { columns, makeHeads, Row, rowHeight, wide } from "/page/rows.js";
import { connection, states } from "/page/transfer.js";

const pageSize = 100;
const mostPages = 40;
/** The height beyond which browsers place elements wrongly; a longer list is scrolled in proportion. */
const mostHeight = 8_000_000;

/** Shows the transfers of a query in `#list`. */
export class TransferList {
	constructor({ open, changed, move, sorted, failed }) {
		Object.assign(this, { open, changed, move, sorted, failed });
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
		byID("heads").append(...makeHeads((key) => this.sortBy(key)));
		this.drag = new Drag(this);
		this.grid.addEventListener("scroll", () => this.schedule(), { passive: true });
		this.grid.addEventListener("keydown", (event) => this.pressed(event));
		this.grid.addEventListener("focus", () => this.current < 0 && this.total > 0 && this.go(0));
		this.space.addEventListener("click", (event) => this.clicked(event));
		this.space.addEventListener("dblclick", (event) => this.openAt(event));
		new ResizeObserver(() => this.schedule()).observe(this.grid);
		wide.addEventListener("change", () => this.resize());
		// Times until the next attempt, and rates that have become old.
		setInterval(() => !document.hidden && !connection.isLost && this.schedule(), 1000);
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
		for (const head of byID("heads").children) {
			const isSorted = head.classList.contains(`c-${this.query.sort}`);
			head.setAttribute("aria-sort", !isSorted ? "none" : this.query.isBackward ? "descending" : "ascending");
		}
		return this.refresh();
	}

	/** Sorts by a column: in its usual direction, then in the other one, then in the order of the queue. */
	sortBy(key) {
		const [, isDown] = columns.find(([column]) => column === key);
		const { sort, isBackward } = this.query;
		const next = sort !== key ? [key, isDown] : isBackward === isDown ? [key, !isDown] : ["queue", false];
		this.sorted(...next);
	}

	/** Whether the rows are in the order of the queue. */
	get isOrdered() {
		return this.query.sort === "queue" && !this.query.isBackward;
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
		const counted = this.query.states.length ? this.query.states : states;
		this.total = counted.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
		this.changed(counts);
		const isFiltered = search || session !== undefined || this.query.states.length;
		byID("empty").hidden = this.total > 0;
		byID("empty").firstChild.textContent = search ? t("noHits", { search }) : t(isFiltered ? "noneHere" : "empty");
		this.grid.setAttribute("aria-rowcount", this.total + 1);
		this.resize();
		for (const page of this.pages.values()) page.isStale = true;
		this.render();
	}

	async load(index) {
		const old = this.pages.get(index);
		if (old && (old.isLoading || !old.isStale)) return;
		const page = old ?? { records: [] };
		page.isLoading = true;
		page.isStale = false;
		this.pages.set(index, page);
		const version = this.version;
		const begun = performance.now();
		const start = index * pageSize;
		const offset = this.query.isBackward ? -(start + 1) : start;
		try {
			const records = await call("list", { ...this.parameters(), offset, limit: pageSize });
			if (version !== this.version) return;
			this.cost = performance.now() - begun;
			page.records = records.map((record) => this.remember(record));
			this.forgetPages(index);
			if (this.awaited !== undefined && this.awaited === this.current && this.at(this.awaited)) this.selectCurrent();
		} catch {
			page.isStale = true;
			return;
		} finally {
			page.isLoading = false;
		}
		this.changed();
		this.render();
	}

	remember(record) {
		record.seen = Date.now();
		const known = this.known.get(record.id);
		if (!known) this.known.set(record.id, record);
		else Object.assign(known, record);
		return known ?? record;
	}

	forgetPages(near) {
		if (this.pages.size <= mostPages) return;
		const numbers = [...this.pages.keys()].sort((one, other) => Math.abs(other - near) - Math.abs(one - near));
		for (const index of numbers.slice(0, this.pages.size - mostPages)) {
			for (const record of this.pages.get(index).records) this.known.delete(record.id);
			this.pages.delete(index);
		}
	}

	at(index) {
		return this.pages.get(Math.floor(index / pageSize))?.records[index % pageSize];
	}

	/** Takes new values of transfers from an event. */
	update(records) {
		for (const record of records) if (this.known.has(record.id)) this.remember(record);
		this.schedule();
	}

	/** Whether a visible row runs according to the list, and not according to the events. */
	get isDoubtful() {
		return this.rows.some(({ isHidden, id }) => {
			const record = !isHidden && this.known.get(id);
			return record?.state === "active" && Date.now() - record.seen > 2500;
		});
	}

	// The rows.

	schedule() {
		this.frame ??= requestAnimationFrame(() => {
			this.frame = undefined;
			this.render();
		});
	}

	/** Fits the list's space to its rows. */
	resize() {
		this.space.style.height = `${Math.min(this.total * rowHeight(), mostHeight)}px`;
		this.schedule();
	}

	/** The index of the first visible row, and the place of row 0 above the list's space. */
	window() {
		const height = this.grid.clientHeight - this.space.offsetTop;
		const whole = this.total * rowHeight();
		const top = this.grid.scrollTop;
		const scale = whole > mostHeight ? (whole - height) / (mostHeight - height) : 1;
		return { first: Math.floor((top * scale) / rowHeight()), origin: top - top * scale, height, scale };
	}

	render() {
		const { first, origin, height } = this.window();
		const from = Math.max(0, first - 3);
		const to = Math.min(this.total, first + Math.ceil(height / rowHeight()) + 4);
		while (this.rows.length < to - from) {
			this.rows.push(new Row(this.rows.length));
			this.space.append(this.rows.at(-1).element);
		}
		const count = this.rows.length;
		const shown = new Set();
		for (let index = from; index < to; index += 1) {
			shown.add(index % count);
			const record = this.at(index);
			const program = record && this.programs.get(record.session);
			const top = origin + index * rowHeight();
			this.rows[index % count].show(record, index, top, this.isSelected(record?.id), program);
		}
		this.rows.forEach((row, slot) => row.hide(!shown.has(slot)));
		this.mark();
		// A list that is scrolled fast loads only the pages at which it stops.
		clearTimeout(this.loading);
		this.loading = setTimeout(() => this.loadPages(from, to), this.at(first) ? 0 : 50);
	}

	loadPages(from, to) {
		for (let index = Math.floor(from / pageSize); index * pageSize < to; index += 1) {
			const page = this.pages.get(index);
			if (!page || page.isStale) this.load(index);
		}
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
		this.awaited = undefined;
		this.changed();
		this.schedule();
	}

	selectAll() {
		this.isAllSelected = this.total > 0;
		this.awaited = undefined;
		this.selected.clear();
		this.changed();
		this.schedule();
		announce(t("selected", { n: this.count() }));
	}

	count() {
		return this.isAllSelected ? this.total : this.selected.size;
	}

	/** The states of the selected transfers; `undefined` if some are not loaded. */
	get selectedStates() {
		if (this.isAllSelected) return undefined;
		const found = [...this.selected].map((id) => this.known.get(id)?.state);
		return found.includes(undefined) ? undefined : new Set(found);
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
		this.select(record ? [record.id] : []);
		if (!record) this.awaited = this.current;
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
		const top = this.current * rowHeight();
		if (this.current < first + 1) this.grid.scrollTop = top / scale;
		if (this.current >= first + Math.floor(height / rowHeight())) {
			this.grid.scrollTop = Math.max(0, top + rowHeight() - height) / scale;
		}
		this.render();
	}

	pressed(event) {
		const page = Math.max(1, Math.floor(this.window().height / rowHeight()) - 1);
		const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
		const isCommand = event.ctrlKey || event.metaKey;
		const record = this.at(this.current);
		if (event.target !== this.grid) return;
		if (event.altKey && ["ArrowUp", "ArrowDown"].includes(event.key)) {
			this.drag.shift(steps[event.key]);
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
			this.drag.release();
			this.select([]);
		} else {
			return;
		}
		event.preventDefault();
	}

	/** The row of a loaded transfer. */
	indexOf(record) {
		for (const [index, { records }] of this.pages) {
			const place = records.indexOf(record);
			if (place >= 0) return index * pageSize + place;
		}
		return -1;
	}

	/** The transfers that move with one, in the order of the list: the selected ones, if it is selected. */
	together(record) {
		if (!record) return [];
		if (!this.selected.has(record.id)) return [record];
		const found = [];
		for (const index of [...this.pages.keys()].sort((one, other) => one - other)) {
			found.push(...this.pages.get(index).records.filter(({ id }) => this.selected.has(id)));
		}
		return found;
	}

	rowOf(node) {
		const element = node?.closest?.(".row");
		return this.rows.find((row) => row.element === element);
	}

	clicked(event) {
		const row = this.rowOf(event.target);
		if (!row?.id || this.drag.hasJustDropped(event)) return;
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
}
