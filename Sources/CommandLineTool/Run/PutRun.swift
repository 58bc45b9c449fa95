// SPDX-License-Identifier: Apache-2.0
import Platform
import Control
import Synchronization
import FileStorage
import TransferCore
import TransferEngine

/// One run of `martlet put`: a run of `martlet get` that receives uploads from its feeder.
enum PutRun {
    /// Runs a plan to its end on the current thread.
    ///
    /// - Returns: The exit status.
    static func execute(_ plan: PutPlan) -> Int32 {
        let state = plan.keepsState ? self.stateDirectory() : nil
        if let state { DiskUploadJournal.removeOld(in: state) }
        let answers = plan.items.map { _ in Answer() }
        let status = GetRun.execute(plan.run) { feeder, run in
            var plan = plan
            plan.run = run
            for (item, answer) in zip(plan.items, answers) {
                guard case .tree(let path, let names) = item.content else {
                    feeder.send(self.request(item, plan, state, answer))
                    continue
                }
                feeder.send(UploadTree(path, names: names)) { (path, names) throws(SyntaxError) in
                    let item = try PutPlan.item(path, named: names, to: plan.url, by: plan.method)
                    return self.request(item, plan, state, nil)
                }
            }
            if let list = plan.list {
                feeder.send(listedIn: list) { (name) throws(SyntaxError) in
                    let item = try PutPlan.item(listed: name, to: plan.url, by: plan.method)
                    return self.request(item, plan, state, nil)
                }
            }
            feeder.endSending()
        }
        if plan.writesAnswers {
            let output = OutputStream(STDOUT_FILENO)
            for (item, answer) in zip(plan.items, answers) {
                output.write(answer.bytes)
                guard answer.isCut else { continue }
                let name = DisplayText.clean(item.name)
                OutputStream(STDERR_FILENO).write("martlet: the response to \(name) was truncated at 16 MiB\n")
            }
        }
        return status
    }

    /// The directory for the state of uploads, in the daemon's state directory.
    private static func stateDirectory() -> String? {
        (try? StateDirectory()).map { $0.path + "/uploads" }
    }

    private static func request(
        _ item: PutPlan.Item,
        _ plan: PutPlan,
        _ state: String?,
        _ answer: Answer?
    ) -> UploadRequest {
        var request = UploadRequest(item.url, .parts([]), options: plan.run.options)
        request.method = plan.method
        request.type = plan.type
        request.way = plan.way
        request.checksum = plan.checksum
        request.collection = item.collection
        request.name = item.name
        if !plan.asksFirst { request.asksFrom = nil }
        if plan.writesAnswers, let answer {
            request.receiver = answer
            request.answerLimit = Int64(Answer.most) + 1
        }
        switch item.content {
        case .file(let path):
            request.content = .file(path)
            request.metadata = [("filename", path.lastComponent), ("filetype", plan.type)]
            if let state {
                let (url, method) = (item.url.withoutUserInfo, plan.method)
                request.journal = DiskUploadJournal(in: state) { [self.absolute(path), url, method] }
            }
        case .tree: preconditionFailure("a directory is sent file by file")
        case .standardInput: request.content = .stream(DescriptorSource())
        case .form(let fields):
            let form = PutPlan.form(fields)
            request.content = .parts(form.parts)
            request.type = form.type
            // A form has a new boundary in each run, so its content differs and cannot be resumed.
            request.way = .plain
        }
        return request
    }

    private static func absolute(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    /// Stores the first part of a response's content.
    private final class Answer: AnswerReceiver {
        static let most = 16 << 20

        private let state = Mutex<(bytes: [UInt8], isCut: Bool)>(([], false))

        var bytes: [UInt8] { self.state.withLock { $0.bytes } }
        var isCut: Bool { self.state.withLock { $0.isCut } }

        func take(_ bytes: UnsafeRawBufferPointer) {
            self.state.withLock { state in
                let taken = bytes.prefix(Self.most - state.bytes.count)
                state.bytes += taken
                state.isCut = state.isCut || taken.count < bytes.count
            }
        }

        func beginAnew() { self.state.withLock { $0 = ([], false) } }
    }
}
