// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import TransferCore

/// Martlet's own method for plots of the rate.
enum OwnRates {
    static let methods = [
        RPCMethod("martlet.rates") { context, _ async throws(ControlError) in
            let rates = context.service.rateHistory.rates
            return ["interval": .integer(RateHistory.interval), "rates": .array(rates.map { .integer($0) })]
        }
    ]
}
