// SPDX-License-Identifier: Apache-2.0
// The total rate of the last ten minutes: measured by the daemon, and continued by its events.
import { byID, bytes, clock, el, rate, t } from "/page/common.js";
import { call } from "/page/client.js";
import { connection } from "/page/transfer.js";

const minutes = 10;
const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1024];

/** The smallest round rate that is not below a rate. */
export function scale(most) {
	let unit = 1;
	while (most > 500 * unit) unit *= 1024;
	return unit * steps.find((step) => step * unit >= most);
}

/** Draws the rates in `#plot`, and the current one. */
export class Plot {
	constructor() {
		this.interval = 2;
		this.rates = [];
		this.now = 0;
		const label = (className, text) => el("span", { className, "aria-hidden": "true" }, text);
		this.top = label("top");
		this.half = label("half");
		this.mark = label("mark");
		byID("plot").append(
			this.top, this.half, this.mark,
			...[10, 5].map((n) => label(`x x${n}`, t("minutesAgo", { n }))), label("x x0", t("now")),
		);
		setInterval(() => this.sample(), this.interval * 1000);
		setInterval(() => this.showRate(), 1000);
	}

	/** Reads the rates of the last minutes from the daemon. */
	async load() {
		const { interval, rates } = await call("rates");
		this.interval = interval;
		this.rates = rates;
		this.sampled = Date.now();
		this.draw();
	}

	/** Takes the running transfers of an event. */
	progress(transfers) {
		this.now = transfers.reduce((sum, one) => sum + one.rate, 0);
		this.seen = Date.now();
	}

	get current() {
		return Date.now() - this.seen < 2000 ? this.now : 0;
	}

	sample() {
		if (connection.isLost || document.hidden) return;
		// A tab that was hidden or suspended has missed some.
		if (Date.now() - this.sampled > 3000 * this.interval) return this.load().catch(() => {});
		this.sampled = Date.now();
		this.rates.push(this.current);
		this.rates.splice(0, this.rates.length - (minutes * 60) / this.interval);
		return this.draw();
	}

	showRate() {
		byID("rate").textContent = connection.isLost ? "–" : rate(this.current);
	}

	draw() {
		const { rates } = this;
		const count = (minutes * 60) / this.interval;
		const most = Math.max(0, ...rates);
		const full = scale(Math.max(most, 1024));
		const x = (index) => count - rates.length + index + 1;
		const line = rates.map((value, index) => `${x(index)} ${(100 - (value / full) * 100).toFixed(1)}`).join("L");
		const [area, stroke] = byID("plot").querySelectorAll("path");
		area.setAttribute("d", rates.length ? `M${x(0)} 100L${line}L${count} 100Z` : "");
		stroke.setAttribute("d", rates.length ? `M${line}` : "");
		byID("plot").firstElementChild.setAttribute("viewBox", `0 0 ${count} 100`);
		this.top.textContent = `${bytes(full, 0)}/s`;
		this.half.textContent = `${bytes(full / 2, 1)}/s`;
		const at = rates.indexOf(most);
		const time = clock(Date.now() / 1000 - (rates.length - 1 - at) * this.interval);
		this.mark.hidden = most === 0;
		this.mark.style.left = `${(100 * x(at)) / count}%`;
		this.mark.style.top = `${100 - (100 * most) / full}%`;
		byID("peak").textContent = most > 0 ? t("peak", { rate: rate(most), time }) : "";
		const label = t("plot", { n: minutes, now: rate(this.current), most: rate(most) });
		byID("plot").setAttribute("aria-label", label);
		this.showRate();
	}
}
