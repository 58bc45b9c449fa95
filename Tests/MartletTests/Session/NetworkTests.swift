// SPDX-License-Identifier: Apache-2.0
import Martlet
import Synchronization
import Testing
import TransferCore
import TransferTesting

@Suite("TLS, proxies and conditions", .timeLimit(.minutes(1)))
struct NetworkTests {
    private static let roots = TLSOptions.Roots.pem([UInt8](TestCertificate.localhost.authorityPEM))

    @Test("A server is trusted by the configuration's roots, and by no others", arguments: [true, false])
    func roots(_ isTrusted: Bool) async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .response(200, text: "x") }
        let harness = try Harness {
            if isTrusted { $0.tls.roots = Self.roots }
            $0.retries = .none
        }
        let ended = await code { try await harness.session.data(from: server.text("a")) }
        #expect(ended == (isTrusted ? nil : .certificate) && server.requests.count == (isTrusted ? 1 : 0))
    }

    @Test("A pinned key must be the server's", arguments: [true, false])
    func pins(_ isRight: Bool) async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .response(200, text: "x") }
        let pin =
            isRight
            ? try TLSOptions.Pin.list("sha256//" + TestCertificate.localhostPin)
            : [try TLSOptions.Pin(sha256: [UInt8](repeating: 0, count: 32))]
        let harness = try Harness {
            $0.tls.roots = Self.roots
            $0.tls.pins = pin
            $0.retries = .none
        }
        let ended = await code { try await harness.session.data(from: server.text("a")) }
        #expect(ended == (isRight ? nil : .certificate) && server.requests.count == (isRight ? 1 : 0))
    }

    @Test("A client certificate is shown to a server that wants one")
    func clientCertificate() async throws {
        let client = TestCertificate.client
        let server = try await ScriptedServer.start(tls: .localhost, clientAuthority: client.authorityPEM) { _ in
            .response(200, text: "x")
        }
        let harness = try Harness {
            $0.tls.roots = Self.roots
            $0.tls.clientCertificate = .init(
                chain: .bytes([UInt8](client.certificatePEM)),
                key: .bytes([UInt8](client.keyPEM))
            )
        }
        #expect(try await harness.session.data(from: server.text("a")).text == "x")
        let without = try Harness {
            $0.tls.roots = Self.roots
            $0.retries = .none
        }
        #expect(await code { try await without.session.data(from: server.text("a")) } == .certificate)
    }

    @Test("The minimum version is kept to")
    func minimumVersion() async throws {
        let server = try await ScriptedServer.start(tls: .localhost, withoutTLS13: true) { _ in
            .response(200, text: "x")
        }
        for version in [TLSOptions.Version.tls12, .tls13] {
            let harness = try Harness {
                $0.tls.roots = Self.roots
                $0.tls.minimumVersion = version
                $0.retries = .none
            }
            let ended = await code { try await harness.session.data(from: server.text("a")) }
            #expect(ended == (version == .tls12 ? nil : .network))
        }
    }

    @Test("Unreadable roots are an error when the session is created")
    func badRoots() async throws {
        #expect(await code { try Harness { $0.tls.roots = .pem([UInt8]("no certificate")) } } == .badConfiguration)
    }

    @Test("A plain proxy is asked by the absolute URL, with its credentials, which the server's are not")
    func proxy() async throws {
        let proxy = try await ScriptedServer.start { _ in .response(200, text: "by proxy") }
        let server = try ProxyServer("http://me:secret@127.0.0.1:\(proxy.port)")
        let harness = try Harness { $0.proxy = .custom(ProxySettings(server)) }
        #expect(try await harness.session.data(from: "http://host.test/a").text == "by proxy")
        #expect(proxy.requests[0].target == "http://host.test/a")
        #expect(
            proxy.requests[0]["Proxy-Authorization"]
                == BasicAuthentication.authorization(user: "me", password: "secret")
        )
        #expect(proxy.requests[0]["Authorization"] == nil)
    }

    @Test("An https URL goes through a proxy's tunnel, with the proxy's credentials")
    func tunnel() async throws {
        let server = try await ScriptedServer.start(tls: .localhost) { _ in .response(200, text: "inside") }
        let credentials = BasicAuthentication.authorization(user: "me", password: "secret")
        let tunnel = try await TunnelServer.start(credentials: credentials)
        let proxy = try ProxyServer("http://me:secret@127.0.0.1:\(tunnel.port)")
        let harness = try Harness {
            $0.tls.roots = Self.roots
            $0.proxy = .custom(ProxySettings(proxy))
        }
        #expect(try await harness.session.data(from: server.text("a")).text == "inside")
        #expect(tunnel.requests.map(\.method) == ["CONNECT"] && server.requests[0]["Proxy-Authorization"] == nil)
    }

    private final class Weather: SystemConditions {
        private let state: Mutex<(battery: Bool, expensive: Bool)>

        init(battery: Bool = false, expensive: Bool = false) { self.state = Mutex((battery, expensive)) }

        var isOnBattery: Bool { self.state.withLock { $0.battery } }
        var isNetworkExpensive: Bool { self.state.withLock { $0.expensive } }

        func clear() { self.state.withLock { $0 = (false, false) } }

        func becomeExpensive() { self.state.withLock { $0.expensive = true } }
    }

    @Test(
        "A task waits while its conditions do not hold, without timing out, and starts when they do",
        arguments: [true, false]
    )
    func conditions(_ isBattery: Bool) async throws {
        let server = try await ScriptedServer.start { request in
            request.path == "/wait"
                ? Reply([.delay(.milliseconds(15_500))] + Reply.response(200).steps) : .response(200, text: "x")
        }
        let weather = Weather(battery: isBattery, expensive: !isBattery)
        let harness = try Harness {
            $0.conditions = weather
            $0.resourceTimeout = .seconds(19)
            if isBattery { $0.discretion = Discretion() } else { $0.allowsExpensiveNetwork = false }
        }
        let task = try harness.session.dataTask(for: server.text("a"))
        let cancelled = try harness.session.dataTask(for: server.text("b"))
        task.resume()
        cancelled.resume()
        #expect(task.state == .waiting)
        cancelled.cancel()
        #expect(await code { try await cancelled.value } == .cancelled)
        #expect(server.requests.isEmpty)
        // Conditions are looked at every 5 seconds: the task waits for 20, longer than it may run.
        _ = try await Harness().session.data(from: server.text("wait"))
        weather.clear()
        #expect(try await task.value.text == "x")
        #expect(server.requests.map(\.target) == ["/wait", "/a"])
    }

    @Test("A task whose conditions end while it runs keeps its bytes, waits for them again, and continues")
    func conditionsEnd() async throws {
        var file = ServedFile(length: 8 << 20)
        // The first answer has no end: it runs until the conditions have ended, however late that is seen.
        file.interruption = .stallAfter(4 << 20)
        file.interruptedResponses = 1
        let server = try await ScriptedServer.start { [file] in .file(file, $0) }
        let weather = Weather()
        let harness = try Harness {
            $0.conditions = weather
            $0.allowsExpensiveNetwork = false
            $0.connectionsPerDownload = 1
        }
        let task = try harness.session.downloadTask(for: server.text("a"), to: .file(harness.path("a")))
        var events = task.events.makeAsyncIterator()
        task.resume()
        while let event = await events.next() { if case .progress = event { break } }
        weather.becomeExpensive()
        await server.waitForOpenConnections(0)
        #expect(task.state == .waiting)
        weather.clear()
        let got = try await task.value
        #expect(file.pattern.difference(fromFileAt: got.path, length: file.length) == nil)
        #expect(server.requests.count == 2 && server.requests[1]["Range"] != nil)
    }

    @Test("Unrequested conditions delay nothing")
    func otherConditions() async throws {
        let server = try await ScriptedServer.start { _ in .response(200, text: "x") }
        let harness = try Harness { $0.conditions = Weather(battery: true, expensive: true) }
        #expect(try await harness.session.data(from: server.text("a")).text == "x")
    }

    @Test("Discretion's hours hold tasks back, and its rate ceiling holds where they run")
    func discretion() async throws {
        let server = try await ScriptedServer.start { .file(ServedFile(length: 8 << 20), $0) }
        let never = try Harness {
            var discretion = Discretion()
            discretion.allowedHours = [24..<25]
            $0.discretion = discretion
        }
        let held = try never.session.dataTask(for: server.text("a"))
        held.resume()
        #expect(held.state == .waiting && server.requests.isEmpty)
        held.cancel()
        let slow = try Harness {
            var discretion = Discretion()
            discretion.allowedHours = [0..<24]
            discretion.requiresMainsPower = false
            discretion.rateCeiling = 64 << 10
            $0.discretion = discretion
        }
        let observer = Observer()
        slow.session.addDelegate(observer)
        let task = try slow.session.downloadTask(for: server.text("b"))
        task.resume()
        await observer.progress.wait(for: 2)
        #expect(task.bytesReceived < 4 << 20)
        task.cancel()
    }
}
