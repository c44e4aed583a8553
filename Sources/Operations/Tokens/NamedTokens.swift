import Cipher
import Console
import Core
import Foundation

/// A named API token, stored as a hash only.
struct NamedToken: Codable, Sendable, Equatable {
    var name: String
    var scopes: [APIScope]
    /// See ``APIToken/digest``.
    var digest: String
    /// Seconds since 1970, like all times here.
    var createdAt: Int64
    /// `nil` if the token never expires.
    var expiresAt: Int64?
    /// Accurate to about a minute.
    var lastUsedAt: Int64?
}

/// The API's named tokens. It accesses no files.
struct NamedTokens: Codable, Sendable, Equatable {
    /// The maximum number of tokens.
    static let limit = 200
    /// The prefix by which secret scanners recognize tokens.
    private static let prefix = "crl_"
    /// The minimum interval, in seconds, between two stored uses of a token.
    private static let grain: Int64 = 60

    private(set) var tokens: [NamedToken] = []

    init() {}

    /// Creates a token and returns it. The token cannot be read again later. Throws an ``OperationError``.
    mutating func create(
        _ name: String,
        _ scopes: Set<APIScope>,
        for span: Duration?,
        now: Timestamp,
        random: RandomBytes
    ) throws(OperationError) -> String {
        guard (1...64).contains(name.utf8.count),
            name.unicodeScalars.allSatisfy({
                $0.properties.isAlphabetic || $0.properties.numericType != nil || "-._@ ".unicodeScalars.contains($0)
            })
        else { throw .invalid("the name: expected 1 to 64 letters, digits, blanks and any of - . _ @") }
        // A token's name must not look like another kind of sign-in in logs or the console.
        guard SignInMeans(of: name) == .token else {
            throw .invalid("the name: it is reserved for another kind of sign-in; choose another one")
        }
        guard !scopes.isEmpty else { throw .invalid("the scopes: expected read, operate or send") }
        guard !tokens.contains(where: { $0.name == name }) else {
            throw .invalid("there is a token called \(name) already: revoke it first, or choose another name")
        }
        guard tokens.count < Self.limit else {
            throw .unavailable("there are \(Self.limit) tokens already: revoke those that are not used")
        }
        let token = Self.prefix + Base64URL.encode(random(32))
        tokens.append(
            NamedToken(
                name: name,
                scopes: APIScope.allCases.filter { scopes.contains($0) },
                digest: APIToken.digest(of: token),
                createdAt: now.seconds,
                expiresAt: span.map { (now + $0).seconds }
            )
        )
        return token
    }

    /// Throws an ``OperationError`` if there is no token of that name.
    mutating func revoke(_ name: String) throws(OperationError) -> NamedToken {
        guard let index = tokens.firstIndex(where: { $0.name == name }) else {
            throw .unknown("there is no token called \(name); carillon tokens list shows all")
        }
        return tokens.remove(at: index)
    }

    /// Returns the token with this digest; `nil` if there is none or it has expired.
    func token(ofDigest digest: String, now: Timestamp) -> NamedToken? {
        // Only hashes are compared, so timing reveals nothing about the token.
        tokens.first { $0.digest == digest && $0.expiresAt.map { $0 > now.seconds } ?? true }
    }

    /// Records uses by name. Returns whether any must be stored.
    mutating func use(_ uses: [String: Int64]) -> Bool {
        var isChanged = false
        for index in tokens.indices {
            guard let moment = uses[tokens[index].name] else { continue }
            guard tokens[index].lastUsedAt.map({ moment - $0 >= Self.grain }) ?? true else { continue }
            tokens[index].lastUsedAt = moment
            isChanged = true
        }
        return isChanged
    }
}

/// The API's named tokens for an operator.
package struct TokenList: OperatorAnswer, Equatable {
    package struct Token: Codable, Sendable, Equatable {
        package var name: String
        package var scopes: [APIScope]
        package var createdAt: String
        package var expiresAt: String?
        package var lastUsedAt: String?
        package var isExpired: Bool
    }

    package var tokens: [Token]

    init(_ all: NamedTokens, now: Timestamp) {
        tokens = all.tokens.map { Token($0, now: now) }
    }

    package var text: String {
        guard !tokens.isEmpty else { return "no named tokens; carillon tokens create makes one" }
        let rows = tokens.map { token in
            [
                token.name, token.scopes.map(\.rawValue).joined(separator: ","), Self.minute(token.createdAt),
                Self.minute(token.lastUsedAt), token.isExpired ? "expired" : Self.minute(token.expiresAt),
            ]
        }
        return TextTable.lines([["NAME", "SCOPES", "CREATED", "LAST USED", "EXPIRES"]] + rows).joined(separator: "\n")
    }

    private static func minute(_ stamp: String?) -> String { stamp.map { $0.minute } ?? "-" }
}

extension TokenList.Token {
    init(_ token: NamedToken, now: Timestamp) {
        func stamp(_ seconds: Int64) -> String { Timestamp(seconds: seconds).rfc3339 }
        name = token.name
        scopes = token.scopes
        createdAt = stamp(token.createdAt)
        expiresAt = token.expiresAt.map(stamp)
        lastUsedAt = token.lastUsedAt.map(stamp)
        isExpired = token.expiresAt.map { $0 <= now.seconds } ?? false
    }
}

/// A new token with the only copy of its secret.
package struct CreatedToken: OperatorAnswer, Equatable {
    package var token: String
    package var of: TokenList.Token

    package var text: String {
        let scopes = of.scopes.map(\.rawValue).joined(separator: ", ")
        return "\(token)\n\nKeep it now: it is not shown again. It is called \(of.name) and good for: \(scopes)"
            + (of.expiresAt.map { ", until \($0.minute)" } ?? "")
    }
}

/// A token that was revoked.
package struct RevokedToken: OperatorAnswer, Equatable {
    package var revoked: TokenList.Token

    package var text: String { "revoked \(revoked.name): it is no longer valid" }
}
