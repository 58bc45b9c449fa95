// SPDX-License-Identifier: Apache-2.0
// The dialogs of links: making one, and passing it on with a QR code.
import { dialog, el, field, t, toast } from "./common.js";
import { root } from "./tus.js";

/** Copies a text; without the clipboard of secure pages, by a selection. */
async function copy(text, input) {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		input.select();
		if (!document.execCommand("copy")) return toast(t("copyByHand"));
	}
	return toast(t("copied"));
}

/** Shows a link with its QR code, to pass it on. */
export function showLink(link, name) {
	const url = new URL(link, location);
	const input = el("input", { readOnly: true, value: url.href, focus: () => input.select() });
	const token = url.pathname.match(/\.martlet-share\/([^/]+)/)?.[1];
	const share = () => navigator.share({ title: name, url: url.href }).catch(() => {});
	const image = el("img", { className: "qr", alt: t("qr"), src: new URL(`.martlet-share/${token}?qr`, root), error: () => image.remove() });
	dialog(name, [
		field(t("link"), input),
		image,
		el(
			"div",
			{ className: "foot" },
			navigator.share && el("button", { click: share }, t("share")),
			el("button", { className: "main", autofocus: true, click: () => copy(url.href, input) }, t("copy")),
		),
	], "link-dialog");
}

/** Asks for the limits of a link to a file, and makes it. */
export function makeLink(path, name) {
	const times = [["", "never"], [3600, "hour"], [86400, "day"], [604800, "week"]];
	const expires = el("select", { autofocus: true }, times.map(([value, text]) => el("option", { value }, t(text))));
	const count = el("input", { type: "number", min: 1 });
	const password = el("input", { type: "password", autocomplete: "new-password" });
	const problem = el("p", { className: "bad", role: "alert" });
	const submit = async (event) => {
		event.preventDefault();
		const body = { path };
		if (expires.value) body.expires = Number(expires.value);
		if (count.value) body.count = Number(count.value);
		if (password.value) body.password = password.value;
		const response = await fetch(new URL(".martlet-share", root), {
			method: "POST",
			headers: { "Content-Type": "application/json" },
			body: JSON.stringify(body),
		}).catch(() => null);
		if (!response?.ok) return (problem.textContent = response ? await response.text() : t("status.0"));
		const { link } = await response.json();
		shown.close();
		return showLink(link, name);
	};
	const fields = [field(t("expires"), expires), field(t("count"), count, t("noLimit")), field(t("password"), password, t("optional"))];
	const button = el("div", { className: "foot" }, el("button", { className: "main" }, t("makeLink")));
	const shown = dialog(name, el("form", { submit }, fields, problem, button), "make-dialog");
}
