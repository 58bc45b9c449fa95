// SPDX-License-Identifier: Apache-2.0
// A worker that computes SHA-256 (FIPS 180-4) of files in pieces: browsers offer no digest over plain HTTP.
const primes = [];
for (let n = 2; primes.length < 64; n += 1) if (primes.every((prime) => n % prime)) primes.push(n);
const fractions = (numbers, root) => Int32Array.from(numbers, (number) => root(number) * 2 ** 32);
const constants = fractions(primes, Math.cbrt);
const words = new Int32Array(64);
const piece = 1 << 22;

function update(state, view) {
	for (let at = 0; at < view.byteLength; at += 64) {
		for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(at + 4 * i);
		for (let i = 16; i < 64; i += 1) {
			const x = words[i - 15];
			const y = words[i - 2];
			const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
			const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
			words[i] = words[i - 16] + s0 + words[i - 7] + s1;
		}
		let [a, b, c, d, e, f, g, h] = state;
		for (let i = 0; i < 64; i += 1) {
			const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
			const t1 = (h + s1 + ((e & f) ^ (~e & g)) + constants[i] + words[i]) | 0;
			const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
			const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
			h = g;
			g = f;
			f = e;
			e = (d + t1) | 0;
			d = c;
			c = b;
			b = a;
			a = (t1 + t2) | 0;
		}
		state[0] += a;
		state[1] += b;
		state[2] += c;
		state[3] += d;
		state[4] += e;
		state[5] += f;
		state[6] += g;
		state[7] += h;
	}
}

async function digest(file) {
	const state = fractions(primes.slice(0, 8), Math.sqrt);
	for (let at = 0; at <= file.size; at += piece) {
		let data = await file.slice(at, at + piece).arrayBuffer();
		if (at + piece > file.size) {
			const padded = new Uint8Array((data.byteLength + 72) & ~63);
			padded.set(new Uint8Array(data));
			padded[data.byteLength] = 0x80;
			data = padded.buffer;
			new DataView(data).setBigUint64(padded.length - 8, BigInt(file.size) * 8n);
		}
		update(state, new DataView(data));
	}
	const view = new DataView(new ArrayBuffer(32));
	state.forEach((word, i) => view.setInt32(4 * i, word));
	return btoa(String.fromCharCode(...new Uint8Array(view.buffer)));
}

onmessage = async ({ data, ports }) => ports[0].postMessage(await digest(data).catch(() => null));
