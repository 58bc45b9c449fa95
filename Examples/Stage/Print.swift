// SPDX-License-Identifier: Apache-2.0
import Foundation

/// Prints a line at once, also into a pipe, so that a killed program has printed what it had said.
func print(_ line: String) { try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8)) }
