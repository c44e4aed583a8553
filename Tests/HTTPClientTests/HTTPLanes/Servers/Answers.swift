import Core
import NIOConcurrencyHelpers
import TimeTestSupport

@testable import HTTPClient

/// Collects the results of completions and counts them.
final class Answers: Sendable {
    private let results = NIOLockedValueBox<[Int: [Result<HTTPResponse, HTTPError>]]>([:])

    /// Returns an exchange whose result is recorded under `number`.
    func exchange(
        _ number: Int,
        body: [UInt8] = [],
        headers: HTTPFields = [],
        deadline: Deadline = 30_000,
        maxResponseBytes: ByteCount = .kibibytes(64)
    ) -> Exchange? {
        guard let url = URLParts("https://push.example/3/device/\(number)") else { return nil }
        let request = HTTPRequest(
            method: "POST",
            url: url.normalized,
            headers: headers,
            body: body,
            maxResponseBytes: maxResponseBytes
        )
        return Exchange(request: request, url: url, deadline: deadline) { self.record(number, $0) }
    }

    func record(_ number: Int, _ result: Result<HTTPResponse, HTTPError>) {
        results.withLockedValue { $0[number, default: []].append(result) }
    }

    /// The result of `number`; nil unless there is exactly one.
    subscript(number: Int) -> Result<HTTPResponse, HTTPError>? {
        results.withLockedValue { all in all[number].flatMap { $0.count == 1 ? $0[0] : nil } }
    }

    /// The number of completion calls.
    var count: Int { results.withLockedValue { $0.values.reduce(0) { $0 + $1.count } } }

    func status(_ number: Int) -> Int? {
        if case .success(let response)? = self[number] { response.status } else { nil }
    }

    func failure(_ number: Int) -> HTTPError? {
        if case .failure(let failure)? = self[number] { failure } else { nil }
    }
}
