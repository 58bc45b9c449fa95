// SPDX-License-Identifier: Apache-2.0
import Datasets
import Platform
import TransferCore
import TransferEngine

extension DatasetOptions {
    /// Combines the options; `nil` without a table.
    ///
    /// - Throws: ``SyntaxError`` with the problem and how to fix it.
    func order() throws(SyntaxError) -> DatasetOrder? {
        guard self.isGiven else {
            if let name = self.dependent.first {
                throw SyntaxError("\(name) is for tables of URLs; give one with --manifest FILE")
            }
            return nil
        }
        var order = try self.table()
        order.report = self.report
        if let report = self.report, report.isEmpty || report == "-" {
            throw SyntaxError("--report needs the name of a file, because a later run continues it")
        }
        if self.report != nil, self.report == self.retryFrom {
            throw SyntaxError("--report and --retry-from name the same file; name another report")
        }
        guard let directory = self.shards else {
            if let name = self.shardOptions.first { throw SyntaxError("\(name) is for shards; give --shards DIR") }
            return order
        }
        guard !directory.isEmpty else { throw SyntaxError("--shards is empty; name a directory") }
        guard self.report != nil else {
            throw SyntaxError("--shards needs --report FILE: only the report says which rows are complete")
        }
        var limits = ShardLimits()
        if let size = self.shardSize { limits.bytes = max(1, size) }
        if let count = self.shardCount { limits.samples = count }
        if let time = self.shardTime, time > .zero { limits.idle = Quantity.nanoseconds(time) }
        order.shards = DatasetOrder.Shards(directory: directory, limits: limits)
        order.filter = try self.filter()
        return order
    }

    private func table() throws(SyntaxError) -> DatasetOrder {
        if let report = self.retryFrom {
            guard self.manifest == nil else {
                throw SyntaxError("--manifest and --retry-from cannot be used together; --retry-from reads a report")
            }
            guard self.manifestFormat == nil else {
                throw SyntaxError("--manifest-format is for --manifest; a report is always JSON lines")
            }
            guard self.urlColumn == nil, self.column.isEmpty else {
                throw SyntaxError(
                    "--url-column and --column are for --manifest; the columns of a report have fixed names"
                )
            }
            var order = DatasetOrder(table: report, parser: TableParser(reportWithAllFailed: self.retryAllFailed))
            order.isRetry = true
            return order
        }
        guard !self.retryAllFailed else {
            throw SyntaxError("--retry-all-failed needs --retry-from REPORT")
        }
        guard let path = self.manifest, !path.isEmpty else {
            throw SyntaxError("--manifest is empty; name a file, or - for standard input")
        }
        guard let format = self.manifestFormat ?? TableFormat(fileName: path) else {
            let shown = path == "-" ? "standard input" : "'\(DisplayText.clean(path))'"
            if let foreign = ForeignFormat(fileName: path) { throw SyntaxError("\(shown): \(foreign.advice)") }
            throw SyntaxError("the format of \(shown) does not follow from its name; add --manifest-format")
        }
        let columns = try self.columns()
        var order = DatasetOrder(table: path, parser: TableParser(format, columns: columns))
        let named = columns.named.map { JSON.Member($0.role.rawValue, .string($0.column)) }
        if !named.isEmpty { order.terms = [JSON.Member("columns", .object(named))] }
        return order
    }

    private func columns() throws(SyntaxError) -> TableColumns {
        var columns = TableColumns()
        if let name = self.urlColumn, name.isEmpty { throw SyntaxError("--url-column is empty; name a column") }
        let given = self.urlColumn.map { [ColumnName(role: .url, column: $0)] } ?? []
        for one in given + self.column where !columns.set(one.role, to: one.column) {
            throw SyntaxError(
                "--column \(one.role.rawValue)=\(DisplayText.clean(one.column)): the meaning or the column is named twice"
            )
        }
        return columns
    }

    private func filter() throws(SyntaxError) -> SampleFilter {
        var filter = SampleFilter(minimum: self.minSize, maximum: self.maxSize)
        if let types = self.types {
            guard let patterns = MediaTypePattern.list(types) else {
                throw SyntaxError(
                    "--types: \"\(DisplayText.clean(types))\" is not a list of types, such as image/*,text/html"
                )
            }
            filter.types = patterns
        }
        if let least = self.minSize, let most = self.maxSize, least > most {
            throw SyntaxError("--min-size is larger than --max-size")
        }
        return filter
    }

    /// The names of given options that need a table.
    private var dependent: [String] {
        let given: [(String, Bool)] = [
            ("--manifest-format", self.manifestFormat != nil), ("--url-column", self.urlColumn != nil),
            ("--column", !self.column.isEmpty), ("--report", self.report != nil),
            ("--retry-all-failed", self.retryAllFailed), ("--shards", self.shards != nil), ("--counts", self.counts),
        ]
        return given.filter(\.1).map(\.0) + self.shardOptions
    }

    /// The names of given options that need shards.
    private var shardOptions: [String] {
        let given: [(String, Bool)] = [
            ("--shard-size", self.shardSize != nil), ("--shard-count", self.shardCount != nil),
            ("--shard-time", self.shardTime != nil),
            ("--max-size", self.maxSize != nil), ("--min-size", self.minSize != nil), ("--types", self.types != nil),
        ]
        return given.filter(\.1).map(\.0)
    }
}

extension DatasetOrder {
    /// Adds what the options of the command determine.
    mutating func complete(_ plan: GetPlan) {
        self.fetches = plan.jobs
        self.algorithm = plan.options.reportDigest ?? .sha256
        self.terms.insert(JSON.Member("digest", .string(self.algorithm.rawValue)), at: 0)
        if let shards = self.shards {
            self.terms.append(JSON.Member("shards", .string(Self.absolute(shards.directory))))
            self.terms.append(JSON.Member("max-size", .optional(self.filter.maximum)))
            self.terms.append(JSON.Member("min-size", .optional(self.filter.minimum)))
            let types = self.filter.types.map { JSON.string($0.description) }
            self.terms.append(JSON.Member("types", .array(types)))
        } else {
            self.directory = plan.options.directory
            self.terms.append(JSON.Member("directory", .string(Self.absolute(plan.options.directory))))
        }
    }

    /// The path from the root, so that a run from another directory does not continue in another place.
    private static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let current = getcwd(nil, 0) else { return path }
        defer { free(current) }
        let root = String(cString: current)
        return path == "." ? root : FilePath.join(root, path)
    }
}
