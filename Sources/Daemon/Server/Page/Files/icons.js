// SPDX-License-Identifier: Apache-2.0
// The icons of the daemon's page: strokes in a square of 16 units.
const circle = "M1.8 8a6.2 6.2 0 1 0 12.4 0A6.2 6.2 0 1 0 1.8 8z";
const shapes = {
	add: "M8 3v10M3 8h10",
	check: "m3 8.5 3.2 3.2L13 5",
	close: "m4 4 8 8m0-8-8 8",
	copy: "M6 6h7v7H6zM4 10H3V3h7v1",
	details: `M8 7v5M8 4v.1${circle}`,
	forget: "M2.5 5h11M6 5V3h4v2m2 0-.6 8.5H4.6L4 5",
	help: `M6 6.2a2 2 0 1 1 2.6 1.9c-.4.2-.6.5-.6 1v.5M8 12v.1${circle}`,
	limits: "M2 5h6m4 0h2M2 11h2m4 0h6M8 5a2 2 0 1 0 4 0 2 2 0 1 0-4 0M4 11a2 2 0 1 0 4 0 2 2 0 1 0-4 0",
	pause: "M5.5 3.5v9m5-9v9",
	remove: `M5.5 8h5${circle}`,
	resume: "m5 3.5 7 4.5-7 4.5z",
	retry: "M13 8a5 5 0 1 1-1.5-3.6L13 6M13 2.5V6H9.5",
	selectAll: "M2.5 2.5h11v11h-11zM5 8l2.2 2.2L11 6",
};

/** Creates an icon, which screen readers skip. */
export function icon(name) {
	const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
	const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
	path.setAttribute("d", shapes[name]);
	svg.setAttribute("viewBox", "0 0 16 16");
	svg.setAttribute("class", "icon");
	svg.setAttribute("aria-hidden", "true");
	svg.append(path);
	return svg;
}
