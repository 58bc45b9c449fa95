// SPDX-License-Identifier: Apache-2.0
// Moves transfers in their queue: by the mouse, and by touch after a long press, before which the browser scrolls.
import { announce, t } from "/page/common.js";
import { call, callEach } from "/page/client.js";

/** Drags the rows of a list. */
export class Drag {
	constructor(list) {
		this.list = list;
		for (const kind of ["pointerdown", "pointermove", "pointerup", "pointercancel"]) {
			list.space.addEventListener(kind, (event) => this.pointed(event));
		}
		for (const kind of ["touchmove", "contextmenu"]) {
			list.space.addEventListener(kind, (event) => this.held && event.preventDefault(), { passive: false });
		}
	}

	/** Whether a click is the end of dragging. */
	hasJustDropped({ timeStamp }) {
		return timeStamp - this.droppedAt < 400;
	}

	pointed(event) {
		const { type, clientX: x, clientY: y } = event;
		if (type === "pointerdown") {
			const row = this.list.rowOf(event.target);
			this.press = row?.id && this.list.isOrdered && event.isPrimary && !event.button ? { x, y, row } : undefined;
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
			if (held && place && type === "pointerup") this.list.move(held, ...place);
		}
	}

	/** Starts to drag the pressed row, with the selected ones; the list scrolls while the pointer is near an edge. */
	hold({ pointerId }) {
		const { list } = this;
		const { row } = this.press;
		this.held = list.together(list.known.get(row.id));
		if (!this.held.length) return this.release();
		list.space.setPointerCapture(pointerId);
		const ids = new Set(this.held.map(({ id }) => id));
		for (const one of list.rows) one.element.classList.toggle("dragged", ids.has(one.id));
		this.rolling = setInterval(() => {
			const { top, bottom } = list.grid.getBoundingClientRect();
			if (this.y < top + 40) list.grid.scrollTop -= 20;
			if (this.y > bottom - 40) list.grid.scrollTop += 20;
		}, 50);
		return undefined;
	}

	/** Marks where the dragged transfers would be dropped. */
	aim(x, y) {
		this.y = y;
		this.dropMark?.classList.remove("before", "after");
		const row = this.list.rowOf(document.elementFromPoint(x, y));
		const target = row && this.list.known.get(row.id);
		if (!target || this.held.includes(target)) return (this.place = undefined);
		const box = row.element.getBoundingClientRect();
		const isAfter = y > box.top + box.height / 2;
		this.place = [target, isAfter];
		this.dropMark = row.element;
		return row.element.classList.add(isAfter ? "after" : "before");
	}

	/** Moves the current row, with the selected ones if it is one of them, by one place of the queue. */
	shift(step) {
		const { list } = this;
		if (!list.isOrdered) return announce(t("notOrdered"));
		const moved = list.together(list.at(list.current));
		const target = moved.length && list.at(list.indexOf(step < 0 ? moved[0] : moved.at(-1)) + step);
		if (!target) return undefined;
		list.current += step;
		return list.move(moved, target, step > 0);
	}

	/** Ends the press, and dragging. */
	release() {
		clearTimeout(this.pressing);
		clearInterval(this.rolling);
		for (const { element } of this.list.rows) element.classList.remove("dragged", "before", "after");
		this.press = this.held = this.place = this.y = undefined;
	}
}

/**
 * Moves transfers, in the order of the list, before or after another one of their queue.
 *
 * Returns the new place of the first one; `null` if one has ended or is in another queue.
 */
export async function moveTogether(transfers, target, isAfter) {
	const found = await call("show", { ids: [target.id, ...transfers.map(({ id }) => id)] });
	const [{ position: to, session }, ...moved] = found;
	if (found.some((one) => one.position === null || one.session !== session)) return null;
	const before = moved.filter(({ position }) => position < to);
	const behind = moved.filter(({ position }) => position > to);
	// A move down ends where its queue closes up behind it: the last one moves first, next to the target.
	const end = to + (isAfter ? 0 : -1);
	const moves = before.reverse().map(({ id }, index) => ({ id, position: end - index }));
	moves.push(...behind.map(({ id }, index) => ({ id, position: end + 1 + index })));
	const { problem } = await callEach("move", moves.map((one) => ({ ...one, how: "POS_SET" })));
	if (problem) throw problem;
	return end + 1 - before.length;
}
