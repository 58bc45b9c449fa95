// SPDX-License-Identifier: Apache-2.0
public import Foundation
public import Martlet

/// A value that was decoded from a response's body.
public struct DecodedResponse<Value: Sendable>: Sendable {
    /// The value.
    public let value: Value
    /// The response, with the body.
    public let response: DataResponse

    /// The status code.
    public var status: Int { self.response.status }
}

extension DataResponse {
    /// Decodes the body as JSON, whatever its media type.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - decoder: The decoder.
    /// - Returns: The value.
    /// - Throws: ``MartletFoundation/BodyCodingError``.
    public func value<Value: Decodable>(
        of type: Value.Type,
        decoder: JSONDecoder = JSONDecoder()
    ) throws(BodyCodingError) -> Value {
        do {
            return try decoder.decode(type, from: self.data)
        } catch {
            throw BodyCodingError(error, "\(type)", url: self.response.url, response: self)
        }
    }
}

extension UploadBody {
    /// A value as JSON, with the media type `application/json`.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: The encoder.
    /// - Returns: The body.
    /// - Throws: `EncodingError`, or the error of the value's own `encode(to:)`.
    public static func json(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) throws -> UploadBody {
        UploadBody.bytes(try encoder.encode(value)).withType("application/json")
    }
}

extension TransferSession {
    /// Receives a body in memory and decodes it as JSON.
    ///
    /// A status other than success is an error that has the first bytes of the body, unless the request has
    /// ``TransferRequest/acceptsAnyStatus``: then the body of any status is decoded. To decode another type for another
    /// status, use ``data(from:maximumBytes:)`` and ``DataResponse/value(of:decoder:)``.
    ///
    /// - Parameters:
    ///   - type: The type of the value.
    ///   - request: The request. `Accept: application/json` is sent unless it or the configuration has that field.
    ///   - decoder: The decoder.
    ///   - maximumBytes: The maximum size of the body in bytes.
    /// - Returns: The value and the response.
    /// - Throws: ``TransferError``, with `httpStatus` for a status other than success; ``MartletFoundation/BodyCodingError``
    ///   if the body cannot be decoded; `CancellationError`.
    public func value<Value: Decodable & Sendable>(
        of type: Value.Type,
        from request: some RequestConvertible,
        decoder: JSONDecoder = JSONDecoder(),
        maximumBytes: Int = DataTask.defaultMaximum
    ) async throws -> DecodedResponse<Value> {
        let response = try await self.data(from: self.acceptingJSON(request), maximumBytes: maximumBytes)
        return DecodedResponse(value: try response.value(of: type, decoder: decoder), response: response)
    }

    /// Sends a value as JSON, and decodes the response's body as JSON.
    ///
    /// The request is sent again after an interruption only if its method is idempotent, or with
    /// ``TransferRequest/mayBeRepeated``. For statuses see ``value(of:from:decoder:maximumBytes:)``.
    ///
    /// - Parameters:
    ///   - type: The type of the value in the response.
    ///   - body: The value to send.
    ///   - request: The request. Its method `GET` is replaced by `POST`; its body must be `nil`. `Accept` and
    ///     `Content-Type` are `application/json` unless it has these fields.
    ///   - encoder: The encoder.
    ///   - decoder: The decoder.
    /// - Returns: The value and the response.
    /// - Throws: ``TransferError``, with `httpStatus` for a status other than success; ``MartletFoundation/BodyCodingError``
    ///   if the value cannot be encoded, or the response's body cannot be decoded; `CancellationError`.
    public func value<Value: Decodable & Sendable>(
        of type: Value.Type,
        sending body: some Encodable & Sendable,
        to request: some RequestConvertible,
        encoder: JSONEncoder = JSONEncoder(),
        decoder: JSONDecoder = JSONDecoder()
    ) async throws -> DecodedResponse<Value> {
        let request = try self.acceptingJSON(request)
        let content: UploadBody
        do {
            content = try .json(body, encoder: encoder)
        } catch {
            throw BodyCodingError(error, "\(Swift.type(of: body))", url: request.url, response: nil)
        }
        let response = try await self.upload(content, to: request, resumption: .none)
        return DecodedResponse(value: try response.value(of: type, decoder: decoder), response: response)
    }

    private func acceptingJSON(_ request: some RequestConvertible) throws(TransferError) -> TransferRequest {
        var request = try request.transferRequest()
        if !request.headers.contains("Accept"), !self.configuration.headers.contains("Accept") {
            request.headers.append("Accept", "application/json")
        }
        return request
    }
}
