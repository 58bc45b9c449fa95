// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore

enum MetricsPage {
    /// The page's content type.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    static func text(
        counts: QueueCounts,
        active: [TransferRecord],
        received: Int64?,
        server: ServerMetrics.Counts,
        process: ProcessFacts,
        started: Double
    ) -> String {
        var page = PrometheusText()
        let states = [
            ("waiting", counts.waiting), ("active", counts.active), ("retrying", counts.retrying),
            ("held", counts.held), ("paused", counts.paused), ("finished", counts.finished),
            ("failed", counts.failed), ("removed", counts.removed),
        ]
        page.add("martlet_info", .gauge, "The version.", [([("version", MartletVersion.text)], "1")])
        page.add(
            "martlet_transfers",
            .gauge,
            "Transfers by state; ended ones as long as the history has them.",
            states.map { ([("state", $0.0)], "\($0.1)") }
        )
        page.add("martlet_transfers_ended_total", .counter, "Ended since the start.", Int64(counts.endedInAll))
        page.add("martlet_receive_bytes_per_second", .gauge, "The rate of all transfers.", counts.rate)
        if let received {
            page.add(
                "martlet_received_bytes_total",
                .counter,
                "Bytes received for transfers that have ended.",
                received
            )
        }
        let sums = active.reduce(into: (bytes: Int64(0), connections: 0)) { sums, record in
            sums.bytes = sums.bytes.addingReportingOverflow(record.bytes).partialValue
            sums.connections += record.connections
        }
        page.add("martlet_active_bytes", .gauge, "Bytes that are there of the active transfers.", sums.bytes)
        page.add("martlet_active_connections", .gauge, "Connections of the active transfers.", Int64(sums.connections))
        let calls = server.calls.sorted { $0.key < $1.key }
        page.add(
            "martlet_rpc_calls_total",
            .counter,
            "Calls by method and result.",
            calls.flatMap { name, count in
                [
                    ([("method", name), ("result", "done")], "\(count.done)"),
                    ([("method", name), ("result", "failed")], "\(count.failed)"),
                ]
            }
        )
        Self.add(server, &page)
        Self.add(process, started, &page)
        return page.text
    }

    private static func add(_ server: ServerMetrics.Counts, _ page: inout PrometheusText) {
        page.add("martlet_server_connections", .gauge, "Connections that are open.", Int64(server.connections))
        page.add("martlet_server_websockets", .gauge, "WebSockets among them.", Int64(server.webSockets))
        page.add("martlet_server_event_streams", .gauge, "Event streams among them.", Int64(server.eventStreams))
        page.add(
            "martlet_server_authentication_failures_total",
            .counter,
            "Messages without the right token.",
            server.failedAuthentications
        )
        page.add(
            "martlet_server_refused_total",
            .counter,
            "Requests refused for their Host or Origin.",
            server.refused
        )
        page.add("martlet_server_malformed_total", .counter, "Requests that were no HTTP.", server.malformed)
    }

    private static func add(_ process: ProcessFacts, _ started: Double, _ page: inout PrometheusText) {
        page.add("process_start_time_seconds", .gauge, "The start, in seconds since 1970.", [([], "\(started)")])
        page.add("process_cpu_seconds_total", .counter, "Processor time.", [([], "\(process.seconds)")])
        if let resident = process.resident {
            page.add("process_resident_memory_bytes", .gauge, "Memory that is in use.", resident)
        }
        if let virtual = process.virtual {
            page.add("process_virtual_memory_bytes", .gauge, "Address space.", virtual)
        }
    }
}
