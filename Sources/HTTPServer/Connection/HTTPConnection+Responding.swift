// SPDX-License-Identifier: Apache-2.0
internal import NIOCore
internal import NIOPosix
internal import TransferCore

/// The sending of responses.
extension HTTPConnection {
    func interim(_ status: Int, _ fields: HeaderFields) {
        guard let context = self.context, !self.hasResponded, !self.form.isOld else { return }
        var response = Response(status, fields)
        if !fields.isEmpty, let request = self.request { self.core.application.prepare(&response, to: request) }
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
        // Moved, because a copy retains each part of it.
        if let request = self.request.take() {
            self.core.application.prepare(&response, to: request)
            self.request = request
        }
        if case .webSocket(let upgrade) = response.content { return self.become(upgrade, response.fields, context) }
        if self.form.isOld, response.content.isUnbounded { response.closes = true }
        // A client that gets no 100 (Continue) may not send its content at all, so there is nothing to wait for.
        let mayDrain = !self.mustContinue && self.bodyLeft.map { $0 <= 256 << 10 } ?? false
        var form = self.form
        form.closes = self.machine.responseBegan(closes: response.closes, mayDrain: mayDrain, now: .now())
        if response.meter != nil { self.beginMeasuring() }
        self.response = response
        let writer = ResponseWriter(context: context, core: self.core, isSecure: self.isSecure)
        let sent = writer.write(
            response,
            form,
            date: self.clock.now().text
        ) { pump in
            self.pump = pump
        } done: { bytes in
            self.written(bytes)
        }
        if !sent {
            self.response = nil
            response.meter?.ended(arrived: 0)
            self.end()
        }
        if self.discardsInput {
            self.input.clear()
            self.read()
        }
        self.arm()
    }

    /// The response was written completely, or failed.
    ///
    /// - Parameter bytes: The number of content bytes, or `nil` if the connection failed.
    private func written(_ bytes: Int64?) {
        guard let response = self.response.take() else { return }
        if let bytes, response.meter != nil {
            self.awaitArrival(response, bytes)
        } else {
            self.responseEnded(response, bytes)
        }
    }

    func responseEnded(_ response: Response, _ bytes: Int64?) {
        self.pump = nil
        if let meter = response.meter { meter.ended(arrived: bytes ?? self.arrived(of: response.content.length)) }
        self.core.application.responded(
            response,
            to: self.request.take(),
            Transmission(peer: self.peer, time: self.clock.now().seconds, bytes: bytes)
        )
        if bytes == nil { self.end() } else { self.follow(self.machine.responseEnded(now: .now())) }
    }
}
