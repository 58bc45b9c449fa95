// SPDX-License-Identifier: Apache-2.0
import Files
import Platform
import Testing
import TransferCore
import TransferTesting

@testable import Datasets

@Suite struct ReportTests {
    private static let key = "quotation \" and \\ and \",\"row\":9"

    private func line(_ number: Int64, failure: DatasetResult.Failure? = nil, place: ShardPlace? = nil) -> [UInt8] {
        var result = DatasetResult()
        result.failure = failure
        result.ended = 1_500
        let others = [
            JSON.Member("status", "open"),
            JSON.Member("nested", ["error_code": "x", "shard": "9", "row": 5]),
        ]
        let row = DatasetRow(number: number, key: Self.key, url: "http://h/\",\"error_code\":7", others: others)
        return ReportLine(.sha256).line(row, result, place: place)
    }

    private static let failure = DatasetResult.Failure(code: "timeout", message: "m", isRetryable: true)

    @Test func theScannerFindsWhatTheLineHas() {
        let place = ShardPlace(shard: "00007.tar", offset: 512)
        #expect(ReportScanner.entry(self.line(123).dropLast())?.number == 123)
        #expect(
            ReportScanner.entry(self.line(0, place: place).dropLast())
                == .init(number: 0, hasFailed: false, shard: "00007.tar")
        )
        #expect(
            ReportScanner.entry(self.line(5, failure: Self.failure).dropLast())
                == .init(number: 5, hasFailed: true, shard: nil)
        )
    }

    @Test func theScannerReadsLinesOfOtherWriters() {
        let line = Array("{ \"row\": 12, \"error_code\": null, \"shard\": \"a\" }".utf8)
        #expect(ReportScanner.entry(line[...]) == .init(number: 12, hasFailed: false, shard: "a"))
        for text in ["", "{}", "{\"key\":\"", "{\"key\":\"a\",\"row\":}", "{\"row\":-1}", "[]", "{\"row\":1e30}"] {
            #expect(ReportScanner.entry(Array(text.utf8)[...]) == nil)
        }
    }

    @Test func columnsWithNamesOfTheReportGetAnUnderscore() throws {
        let json = try JSON(parsing: self.line(1))
        #expect(json["status"] == .null && json["status_"] == "open" && json["key"]?.string == Self.key)
        #expect(json["ended"]?.double == 1.5)
    }

    @Test("A retry refuses a row with an unusable checksum again")
    func unusableChecksumIsReported() throws {
        var table = TableParser(.jsonl)
        let text = Array((#"{"url":"http://h/a","checksum":"sha256:12"}"# + "\n").utf8)
        guard case .fault(let row, _, _)? = try table.take(text[...]).first else {
            Issue.record("the row is not refused")
            return
        }
        let failure = DatasetResult.Failure(code: "bad-row", message: "m", isRetryable: false)
        let line = ReportLine(.sha256).line(row, DatasetResult(failure, ended: 0))
        #expect(try JSON(parsing: line)["checksum"] == "sha256:12")
        var report = TableParser(reportWithAllFailed: true)
        guard case .fault(let again, _, _)? = try report.take(line[...]).first else {
            Issue.record("the row is fetched without a checksum")
            return
        }
        #expect(again == row)
    }

    @Test("A time before 1970 is reported as 0")
    func timeBefore1970() throws {
        let failure = DatasetResult.Failure(code: "timeout", message: "m", isRetryable: true)
        let row = DatasetRow(number: 0, url: "http://h/a")
        let line = ReportLine(.sha256).line(row, DatasetResult(failure, ended: -1_234))
        #expect(try JSON(parsing: line)["ended"] == 0)
    }

    @Test func noColumnTakesTheNameOfAnother() {
        let names = ["status_", "status", "url", "url_", "url__", "a", "status__"]
        let columns = names.map { JSON.Member($0, .string($0)) }
        let passed = ReportColumns.passedThrough(columns)
        #expect(Set(passed.map(\.name)).count == columns.count)
        #expect(passed.allSatisfy { !ReportColumns.names.contains($0.name) })
        #expect(passed.map(\.value) == columns.map(\.value))
        #expect(passed.map(\.name) == ["status_", "status___", "url___", "url_", "url__", "a", "status__"])
        // A report that is read again keeps the names.
        #expect(ReportColumns.passedThrough(passed) == passed)
    }

    @Test func aReportIsTheTableOfItsFailedRows() throws {
        let gone = DatasetResult.Failure(code: "not-found", message: "m", isRetryable: false)
        let text =
            self.line(3) + self.line(70, failure: Self.failure) + self.line(4, failure: gone) + Array("{\"key".utf8)
        let retryable = try TableParserTests.parse(text, TableParser(reportWithAllFailed: false))
        guard case .row(let row, _)? = retryable.first, retryable.count == 1 else {
            Issue.record("\(retryable)")
            return
        }
        #expect(row.number == 70 && row.key == Self.key && row.others.map(\.name) == ["status_", "nested"])
        let all = try TableParserTests.parse(text, TableParser(reportWithAllFailed: true))
        #expect(all.count == 2)
    }

    // MARK: The file

    private func open(_ path: String) throws -> ReportFile.Contents {
        var file = try ReportFile(opening: path)
        return try file.read()
    }

    @Test func anIncompleteLastLineIsRemoved() throws {
        let directory = try TemporaryDirectory()
        let whole = self.line(0) + self.line(2, failure: Self.failure)
        let torn = self.line(1)
        for count in 1..<torn.count {
            try directory.write(whole + torn[..<count], to: "report")
            let contents = try self.open(directory.path("report"))
            #expect(contents.reported.count == 2 && contents.failed == 1 && !contents.reported.contains(1))
            #expect(try directory.read("report") == whole)
        }
    }

    @Test func aReportOfSeveralReadsIsReadWhole() throws {
        let directory = try TemporaryDirectory()
        let whole = (0..<2000).flatMap { self.line($0, failure: $0 % 10 == 0 ? Self.failure : nil) }
        try #require(whole.count > 256 << 10)
        try directory.write(whole + self.line(2000).dropLast(20), to: "report")
        let contents = try self.open(directory.path("report"))
        #expect(contents.reported.count == 2000 && contents.failed == 200 && !contents.reported.contains(2000))
        #expect(try directory.read("report") == whole)
    }

    @Test func aFileThatIsNotAReportIsNotChanged() throws {
        let directory = try TemporaryDirectory()
        let bytes = Array("precious\ntext".utf8)
        try directory.write(bytes, to: "report")
        #expect(throws: DatasetError.self) { try self.open(directory.path("report")) }
        #expect(try directory.read("report") == bytes)
    }

    @Test(arguments: ["precious", "precious\u{0}\u{0}", "{\"value\": 1}"])
    func aFileWithoutALineOfAReportIsNotChanged(_ text: String) throws {
        let directory = try TemporaryDirectory()
        try directory.write(Array(text.utf8), to: "report")
        #expect(throws: DatasetError.self) { try self.open(directory.path("report")) }
        #expect(try directory.read("report") == Array(text.utf8))
    }

    @Test func linesDamagedByALossOfPowerAreRemoved() throws {
        let directory = try TemporaryDirectory()
        let whole = self.line(0) + self.line(2, failure: Self.failure)
        var damaged = self.line(1)
        for index in damaged.count / 2..<damaged.count - 20 { damaged[index] = 0 }
        for rest in [damaged + self.line(3), [UInt8](repeating: 0, count: 5000), damaged.dropLast() + [0]] {
            try directory.write(whole + rest, to: "report")
            let contents = try self.open(directory.path("report"))
            #expect(contents.reported.count == 2 && !contents.reported.contains(1) && !contents.reported.contains(3))
            #expect(try directory.read("report") == whole)
        }
        try directory.write([UInt8](repeating: 0, count: 10), to: "report")
        #expect(try self.open(directory.path("report")).reported.count == 0)
    }

    @Test func aTableThatCannotBeReadHasNoTerms() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("table")
        try directory.write([1], to: "table")
        let file = FileDescriptor(Platform.open(path, O_WRONLY))
        #expect(throws: StorageError.self) { try ReportOrigin.terms(ofTable: file, named: path) }
    }

    @Test func aReportHasOneWriter() throws {
        let directory = try TemporaryDirectory()
        let first = try ReportFile(opening: directory.path("report"))
        do throws(DatasetError) {
            _ = try ReportFile(opening: directory.path("report"))
            Issue.record("it was opened twice")
        } catch {
            guard case .busy = error else {
                Issue.record("\(error)")
                return
            }
        }
        let isEmpty = first.isEmpty
        #expect(isEmpty)
    }

    @Test func aReportIsContinuedOnlyWithTheSameTerms() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path("report")
        let terms = [JSON.Member("digest", "sha256"), JSON.Member("table-bytes", 12)]
        let id: String
        do {
            let opening = try ReportOpening(path, terms: terms)
            id = opening.id
            var file = opening.takeFile()
            try file.append(self.line(0))
            try file.sync()
        }
        do {
            let opening = try ReportOpening(path, terms: terms)
            #expect(opening.id == id && opening.contents.reported.contains(0))
        }
        do throws(DatasetError) {
            _ = try ReportOpening(path, terms: [terms[0], JSON.Member("table-bytes", 13)])
            Issue.record("another table was accepted")
        } catch {
            guard case .otherReport(let message) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(message.contains("table-bytes") && message.contains("13"))
        }
    }

    // MARK: Values

    @Test(arguments: 0..<20)
    func theSetOfRowsIsASet(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var rows = RowSet()
        var model: Set<Int64> = []
        let spread: Int64 = Bool.random(using: &random) ? 300 : 1 << 33
        for _ in 0..<1000 {
            let number = Int64.random(in: 0..<spread, using: &random)
            #expect(rows.contains(number) == model.contains(number))
            let isNew = (rows.insert(number), model.insert(number).inserted)
            #expect(isNew.0 == isNew.1)
        }
        #expect(rows.count == Int64(model.count))
    }

    @Test func whatAnotherRunMayRepairIsRetryable() {
        func isRetryable(_ code: TransferFailure.Code, status: Int? = nil) -> Bool {
            DatasetResult.Failure(TransferFailure(code, "m", status: status)).isRetryable
        }
        for code: TransferFailure.Code in [.timeout, .overloaded, .network, .checksumMismatch, .noSpace] {
            #expect(isRetryable(code))
        }
        for code: TransferFailure.Code in [.notFound, .badOption, .redirects, .certificateExpired, .tooLarge] {
            #expect(!isRetryable(code))
        }
        #expect(isRetryable(.badResponse, status: 500) && !isRetryable(.badResponse, status: 410))
    }
}
