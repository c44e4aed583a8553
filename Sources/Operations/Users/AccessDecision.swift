import ASCII
import Foundation
import Nostr
import Registry
import RemoteSigning
import RouterConfiguration
import Units

/// Takes what an operator decides about somebody to a running router by its API, else to its files.
package struct AccessDecision {
    private let configuration: Configuration

    package init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// Throws an ``OperationFailure`` when it cannot be done, and `Diagnostics` for a key file that is none.
    package func take(_ request: AccessRequest) async throws -> AccessAnswer {
        var request = request
        if request.kind == .invitation { request.subject = try digest(of: request.subject) }
        // Before anybody is asked: a mistake in the words is the same everywhere.
        _ = try request.meaning()
        do {
            return try OperatorAccess(configuration, for: .changing).users.decide(request)
        } catch let error as StoreLockError where error.isOfStoreInUse {
            return try await APIClient(configuration: configuration).change(target(of: request))
        }
    }

    /// The secret itself goes nowhere.
    private func digest(of invitation: String) throws -> String {
        let identity = try IdentityFile(path: configuration.keyFile).read()
        let keys = try RouterKeyStore.keys(of: identity, at: configuration.storePath)
        guard let digest = try InvitationDigest.text(of: invitation, keys.seeds) else {
            throw OperationFailure.invalid("expected an invitation: a bunker:// URL with a secret, or the secret alone")
        }
        return digest
    }

    private func target(of request: AccessRequest) -> String {
        var parameters = ["subject": request.subject, "reason": request.reason]
        if request.kind == .invitation { parameters["kind"] = "invitation" }
        if let span = request.span { parameters["seconds"] = "\(span.seconds)" }
        let query = parameters.sorted { $0.key < $1.key }.filter { !$0.value.isEmpty }
            .map { "\($0.key)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
        let folder = request.kind == .relay ? "relays" : "users"
        return "/v1/\(folder)/\(request.verb.rawValue)?\(query)"
    }
}

extension AccessRequest {
    /// What a request to the API says. Throws an ``OperationFailure`` for what cannot be read.
    init(_ verb: String, isRelay: Bool, _ parameters: [String: String]) throws(OperationFailure) {
        guard let verb = Verb(rawValue: verb), let subject = parameters["subject"] else {
            throw .invalid("expected subject=, and one of block, unblock, allow or disallow")
        }
        var span: Duration?
        if let text = parameters["seconds"] {
            guard let seconds = Int64(text), (1...315_360_000).contains(seconds) else {
                throw .invalid("seconds: expected a number of seconds")
            }
            span = .seconds(seconds)
        }
        self.init(
            verb,
            subject,
            kind: isRelay ? .relay : parameters["kind"].flatMap { AccessSubject.Kind(rawValue: $0) },
            reason: parameters["reason"] ?? "",
            span: span
        )
    }
}
