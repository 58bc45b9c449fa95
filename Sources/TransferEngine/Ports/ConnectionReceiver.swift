// SPDX-License-Identifier: Apache-2.0
package import TransferCore

/// A receiver that also gets a report about the connection of its request, from transports that are set up to report them.
package protocol ConnectionReceiver: ExchangeReceiver {
    /// The request is sent over this connection: before `exchangeConnected`, and again if the request is repeated.
    func exchangeUses(_ connection: ConnectionReport)
}
