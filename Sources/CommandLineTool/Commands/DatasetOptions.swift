// SPDX-License-Identifier: Apache-2.0
import ArgumentParser
import Datasets
import TransferEngine

/// Options for tables of URLs, reports and shards.
struct DatasetOptions: ParsableArguments {
    @Option(.manifest) var manifest: String?
    @Option(.manifestFormat) var manifestFormat: TableFormat?
    @Option(.urlColumn) var urlColumn: String?
    @Option(.column) var column: [ColumnName] = []
    @Option(.report) var report: String?
    @Option(.retryFrom) var retryFrom: String?
    @Flag(.retryAllFailed) var retryAllFailed = false
    @Option(.shards) var shards: String?
    @Option(.shardSize) var shardSize: Int64?
    @Option(.shardCount) var shardCount: Int?
    @Option(.shardTime) var shardTime: Duration?
    @Option(.maxSize) var maxSize: Int64?
    @Option(.minSize) var minSize: Int64?
    @Option(.types) var types: String?
    @Flag(.counts) var counts = false

    /// Whether a table is to be read.
    var isGiven: Bool { self.manifest != nil || self.retryFrom != nil }
}
