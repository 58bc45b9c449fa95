// SPDX-License-Identifier: Apache-2.0

/// A fault of a receiver in one response.
enum UploadQuirk: String, CaseIterable {
    // The connection.
    case breaksFirst = "breaks the connection before it reads content"
    case cuts = "breaks the connection within the content"
    case cutsLast = "breaks the connection before the last byte"
    case losesResponse = "receives everything, and breaks the connection before its response"
    case silent = "receives everything, and says nothing"
    case stalls = "stops reading"
    case pauses = "stops reading for some seconds"
    case slow = "reads slowly"
    // Statuses.
    case serverError = "sends 5xx before the content"
    case serverErrorLate = "sends 5xx after the content, and drops it"
    case serverErrorWithDelay = "sends 503 with Retry-After"
    case tooMany = "sends 429"
    case denied = "sends 401 or 403"
    case conflict = "sends 409"
    case gone = "sends 404 or 410, although it has the upload"
    case locked = "sends 423"
    case tooLarge = "sends 413"
    case expectation = "sends 417"
    case badChecksum = "sends 460"
    case noSpace = "sends 507"
    case malformed = "sends what is not HTTP"
    // The upload.
    case expires = "has removed the upload"
    case losesTail = "has lost the last bytes of the upload"
    case wrongOffset = "sends a wrong offset"
    case omitsOffset = "sends no offset"
    case takesPart = "takes only a part of the content, and says so"
    case early = "sends 201 before it has the content"
    // Other responses.
    case redirects = "redirects with 307 or 308"
    case redirectsToGet = "redirects with 302 or 303"
    case redirectsForEver = "redirects to itself"
    case interim = "sends interim responses"

    /// Whether it hits requests with content alone.
    var isOfContent: Bool {
        switch self {
        case .cuts, .cutsLast, .stalls, .pauses, .slow, .serverErrorLate, .expectation, .badChecksum, .early,
            .takesPart:
            true
        default: false
        }
    }
}
