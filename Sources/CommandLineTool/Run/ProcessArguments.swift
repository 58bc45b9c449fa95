// SPDX-License-Identifier: Apache-2.0
import Platform

/// The arguments of this process as other users see them.
enum ProcessArguments {
    /// Overwrites a secret among the arguments, so that the list of processes no longer shows it.
    static func hide(_ secret: String) {
        let bytes = Array(secret.utf8)
        guard !bytes.isEmpty else { return }
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            let length = strlen(argument)
            // Given as a separate argument, or after `--rpc-secret=`.
            guard length >= bytes.count, memcmp(argument + (length - bytes.count), bytes, bytes.count) == 0 else {
                continue
            }
            memset(argument + (length - bytes.count), Int32(UInt8(ascii: "*")), bytes.count)
        }
    }
}
