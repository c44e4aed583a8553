import Foundation
import HTTPLanes

/// Where spans go, and of how many events.
package struct TracingSettings: Sendable, Equatable {
    /// Where a collector takes traces by OTLP over HTTP: with the path, `/v1/traces`.
    package let endpoint: String
    /// The part of the events that is traced, from 0 to 1.
    package var sample = 0.01
    /// A file with further headers for the collector, which may be secret; nil: none.
    package var headersFile: String?
    /// What the collector knows this router as.
    package var service = "carillon"

    /// `url` is a collector's, with or without the path for traces. Nil when it is none.
    package init?(url: String) {
        guard let parts = URLParts(url), !parts.target.contains("?") else { return nil }
        let path = parts.target.hasSuffix("/") ? String(parts.target.dropLast()) : parts.target
        endpoint =
            URLParts("http\(parts.origin.isSecure ? "s" : "")://\(parts.origin.authority)")
            .map { String($0.normalized.dropLast()) + (path.hasSuffix("/v1/traces") ? path : path + "/v1/traces") }
            ?? url
    }

    /// The headers in ``headersFile``; none where there is no such file.
    package func headers() throws(CollectorHeadersError) -> HTTPFields {
        guard let headersFile else { return HTTPFields() }
        return try CollectorHeaders.read(headersFile)
    }
}

/// Reads a file of headers: a line each, as in `authorization: Bearer …`.
package enum CollectorHeaders {
    private static let limit = 65_536

    package static func read(_ path: String) throws(CollectorHeadersError) -> HTTPFields {
        guard let data = FileManager.default.contents(atPath: path), data.count <= limit else {
            throw CollectorHeadersError(
                description: "\(path): expected a file that can be read, of \(limit) bytes at most"
            )
        }
        var fields = HTTPFields()
        let lines = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() where !line.allSatisfy(\.isWhitespace) && line.first != "#" {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].lowercased()
            guard parts.count == 2, !name.isEmpty else {
                throw CollectorHeadersError(
                    description: "\(path), line \(index + 1): expected a header, as in name: value"
                )
            }
            fields.append(name, parts[1].trimmingCharacters(in: .whitespaces))
        }
        guard fields.isWellFormed else {
            throw CollectorHeadersError(description: "\(path): a header's name or value holds what no header may hold")
        }
        return fields
    }
}

/// What is wrong with a file of headers; never a header.
package struct CollectorHeadersError: Error, CustomStringConvertible {
    package let description: String
}
