// SPDX-License-Identifier: Apache-2.0
import Receiver
import Testing
import TransferTesting

@testable import CommandLineTool

@Suite("The sign-outs of martlet serve")
struct ServeSignOutsTests {
    @Test("are in one file of the state directory; without credentials there are none")
    func place() throws {
        let directory = try TemporaryDirectory()
        var configuration = ReceiverConfiguration(directory: directory.path)
        func place() -> (path: String?, warnings: [String]) {
            ServeSignOuts.place(configuration) { $0 == "MARTLET_STATE_DIR" ? directory.path("state") : nil }
        }
        #expect(place().path == nil && place().warnings.isEmpty)
        configuration.credentials = [AccessCredential(.token, secret: "t", rights: .all)]
        #expect(place().path == directory.path("state/serve.sign-outs") && place().warnings.isEmpty)
        configuration.directory = nil
        #expect(place().path == directory.path("state/serve.sign-outs"))
    }

    @Test("end with the run if nothing can be stored, which is reported")
    func unwritable() throws {
        let directory = try TemporaryDirectory()
        try directory.write([1], to: "state")
        var configuration = ReceiverConfiguration(directory: directory.path)
        configuration.credentials = [AccessCredential(.token, secret: "t", rights: .all)]
        let place = ServeSignOuts.place(configuration) { $0 == "MARTLET_STATE_DIR" ? directory.path("state") : nil }
        #expect(place.path == nil && place.warnings.count == 1)
    }
}
