import Foundation
import RouterConfiguration

/// The access of commands to a router: the API of a running router, otherwise its files.
package struct RouterOrFiles {
    let configuration: Configuration

    package init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// Nil if no router responds. Throws an ``OperationError`` with the router's message for an error response.
    func ask<Answer: OperatorAnswer>(
        _ method: String,
        _ path: String,
        _ parameters: [String: String]
    ) async throws -> Answer? {
        guard let client = try? APIClient(configuration: configuration) else { return nil }
        do {
            return try await client.answer(method, Self.target(path, parameters))
        } catch let failure as OperationError where failure.kind == .unreachable {
            return nil
        }
    }

    /// Like `ask`, for requests that require a running router. Throws an ``OperationError`` even if none responds.
    func require<Answer: OperatorAnswer>(
        _ method: String,
        _ path: String,
        _ parameters: [String: String],
        body: Data? = nil,
        toDo what: String
    ) async throws -> Answer {
        do {
            return try await APIClient(configuration: configuration)
                .answer(method, Self.target(path, parameters), body: body)
        } catch let failure as OperationError where failure.kind == .unreachable {
            throw OperationError.unreachable("only a running router can \(what): \(failure)")
        }
    }

    private static func target(_ path: String, _ parameters: [String: String]) -> String {
        let query = parameters.sorted { $0.key < $1.key }.map { name, value in
            name + "=" + (value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
        }
        return query.isEmpty ? path : path + "?" + query.joined(separator: "&")
    }

    /// Opens the files for changes. Throws an ``OperationError`` if a router has locked them.
    func files() throws -> OperatorAccess {
        do {
            return try OperatorAccess(configuration, for: .changing)
        } catch let error as StoreLockError where error.isOfStoreInUse {
            throw OperationError.unavailable(
                "\(error). It does not respond: wait a moment, or add api: to its configuration"
            )
        }
    }
}

extension APIClient {
    private struct ErrorResponse: Decodable {
        var detail: String
        /// The errors in rules.
        var mistakes: [String]?
    }

    /// Returns the content of the response. Throws an ``OperationError``: the router's message for an error response,
    /// unreachable if there is no response.
    package func answer<Content: OperatorAnswer>(
        _ method: String,
        _ target: String,
        body: Data? = nil
    ) async throws -> Content {
        let answer = try await ask(method, target, body: body)
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let received = Data(answer.body.utf8)
        if answer.status == 200, let content = try? decoder.decode(Content.self, from: received) { return content }
        let refusal = try? decoder.decode(ErrorResponse.self, from: received)
        let words = refusal.map { refusal in
            ([refusal.detail] + (refusal.mistakes ?? [])).joined(separator: "\n")
        }
        let text =
            words ?? "the router responded with status \(answer.status): check that it has the version of this command"
        switch answer.status {
        case 400: throw OperationError.invalid(text)
        case 404: throw OperationError.unknown(text)
        default: throw OperationError.unavailable(text)
        }
    }
}
