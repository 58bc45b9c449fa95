// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import TransferCore
import TransferEngine

/// Options for upload content, shared by `martlet put` and `martlet add --upload`.
struct ContentOptions: ParsableArguments {
    @Option(.method) var method: String?
    @Option(.type) var type: String?
    @Option(.form) var form: [String] = []
    @Option(.protocol) var `protocol`: UploadWay?
    @Flag(.noExpect) var noExpect = false
}
