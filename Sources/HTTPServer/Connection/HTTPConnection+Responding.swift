// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOPosix
internal import TransferCore

/// The sending of responses.
extension HTTPConnection {
    func interim(_ status: Int, _ fields: HeaderFields) {
        guard let context = self.context, !self.hasResponded, self.request?.head.minorVersion != 0 else { return }
        var response = Response(status, fields)
        if !fields.isEmpty { self.core.application.prepare(&response, to: self.request) }
        var buffer = context.channel.allocator.buffer(capacity: 256)
        ResponseSerializer.write(interim: status, response.fields, to: &buffer)
        context.writeAndFlush(self.wrapOutboundOut(.byteBuffer(buffer)), promise: nil)
    }

    func respond(_ response: Response) {
        guard !self.hasResponded, let context = self.context else {
            response.meter?.ended(arrived: 0)
            return
        }
        self.hasResponded = true
        var response = response
        self.core.application.prepare(&response, to: self.request)
        if case .webSocket(let upgrade) = response.content { return self.become(upgrade, response.fields, context) }
        if self.request?.head.minorVersion == 0, response.content.isUnbounded { response.closes = true }
        // A client that gets no 100 (Continue) may not send its content at all, so there is nothing to wait for.
        let mayDrain = !self.mustContinue && self.bodyLeft.map { $0 <= 256 << 10 } ?? false
        let closes = self.machine.responseBegan(closes: response.closes, mayDrain: mayDrain, now: .now())
        if response.meter != nil { self.beginMeasuring() }
        let writer = ResponseWriter(context: context, core: self.core, isSecure: self.isSecure)
        let sent = writer.write(
            response,
            isHead: self.request?.head.method == "HEAD",
            isOld: self.request?.head.minorVersion == 0,
            closes: closes,
            date: self.clock.now().text
        ) { [self] pump in
            self.pump = pump
        } done: { [self, response] bytes in
            if let bytes, response.meter != nil {
                self.awaitArrival(response, bytes)
            } else {
                self.responseEnded(response, bytes)
            }
        }
        if !sent {
            response.meter?.ended(arrived: 0)
            self.end()
        }
        if self.discardsInput {
            self.input.clear()
            self.read()
        }
        self.arm()
    }

    func responseEnded(_ response: Response, _ bytes: Int64?) {
        self.pump = nil
        if let meter = response.meter { meter.ended(arrived: bytes ?? self.arrived(of: response.content.length)) }
        let now = self.clock.now().seconds
        self.core.application.responded(
            response,
            to: self.request,
            Transmission(peer: self.peer, time: now, bytes: bytes)
        )
        if bytes == nil { self.end() } else { self.follow(self.machine.responseEnded(now: .now())) }
    }
}
