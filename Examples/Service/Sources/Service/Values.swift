// SPDX-License-Identifier: Apache-2.0
// What comes in and goes out: arguments, lists of URLs, jobs, errors.
import Foundation
import Hummingbird
import Martlet

enum Arguments {
    /// The directory of the files and the port; ends the program if they are not valid.
    static func parse(_ arguments: [String]) -> (directory: String, port: Int) {
        let port = arguments.count > 2 ? UInt16(arguments[2]) : 8080
        guard (2...3).contains(arguments.count), !arguments[1].hasPrefix("-"), let port else {
            FileHandle.standardError.write(Data("usage: Service DIRECTORY [PORT]\n".utf8))
            exit(2)
        }
        return (arguments[1], Int(port))
    }
}

/// A job, as clients see it.
struct Job: ResponseEncodable {
    var id, url, name, state: String
    var bytes: Int64
    var expected: Int64?
    var error: String?
    /// The trace of the request, which is not encoded.
    var trace: [String: String] = [:]

    private enum CodingKeys: CodingKey { case id, url, name, state, bytes, expected, error }

    init(_ download: OfflineDownload) {
        self.id = download.id
        self.url = "\(download.url)"
        self.name = download.name
        self.state = download.state.rawValue
        self.bytes = download.bytesReceived
        self.expected = download.bytesExpected
        self.error = download.error.map { "\($0)" }
        self.trace = download.userInfo
    }
}

enum URLList {
    /// Parses a JSON array of strings, or lines of text, of which empty ones are ignored.
    ///
    /// - Throws: `HTTPError` that names the line or item and what is wrong with it.
    static func parse<Value>(_ body: ByteBuffer, _ make: (String) throws -> Value) throws -> [Value] {
        let text = String(buffer: body)
        var items: [(place: String, url: String)] = []
        if text.first(where: { !$0.isWhitespace }) == "[" {
            guard let urls = try? JSONDecoder().decode([String].self, from: Data(text.utf8)) else {
                throw HTTPError(.badRequest, message: "the body is not a JSON array of strings")
            }
            items = urls.enumerated().map { ("item \($0 + 1)", $1) }
        } else {
            let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            items = lines.enumerated().map { ("line \($0 + 1)", $1.trimmingCharacters(in: .whitespaces)) }
                .filter { !$0.url.isEmpty }
        }
        guard !items.isEmpty else { throw HTTPError(.badRequest, message: "the list has no URLs") }
        return try items.map { item in
            do {
                return try make(item.url)
            } catch {
                throw HTTPError(.badRequest, message: "\(item.place): \(error)")
            }
        }
    }
}

extension HTTPError {
    /// Performs a change of the list; its errors become responses.
    static func catching<Value>(_ change: () throws -> Value) throws -> Value {
        do {
            return try change()
        } catch let error as TransferError {
            let status: HTTPResponse.Status =
                switch error.code {
                case .badRequest, .badURL: .badRequest
                case .noSpace: HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
                default: .serviceUnavailable
                }
            throw HTTPError(status, message: "\(error)")
        }
    }
}
