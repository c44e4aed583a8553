import Cipher
import Console
import Core
import Foundation

/// A token of the API with a name, of which only a hash is kept.
struct NamedToken: Codable, Sendable, Equatable {
    var name: String
    var scopes: [APIScope]
    /// See ``APIToken/digest``.
    var digest: String
    /// Seconds since 1970, as all of these.
    var createdAt: Int64
    /// Nil: never.
    var expiresAt: Int64?
    /// To about a minute.
    var lastUsedAt: Int64?
}

/// The API's named tokens. Knows no files.
struct NamedTokens: Codable, Sendable, Equatable {
    /// More are hardly anybody's intention.
    static let limit = 200
    /// By which scanners for secrets know a token.
    private static let prefix = "crl_"
    /// How much older the last use may be than what is kept.
    private static let grain: Int64 = 60

    private(set) var tokens: [NamedToken] = []

    init() {}

    /// Makes a token, and returns it; it is not to be had again. Throws an ``OperationFailure``.
    mutating func create(
        _ name: String,
        _ scopes: Set<APIScope>,
        for span: Duration?,
        now: Timestamp,
        random: RandomBytes
    ) throws(OperationFailure) -> String {
        guard (1...64).contains(name.utf8.count),
            name.unicodeScalars.allSatisfy({
                $0.properties.isAlphabetic || $0.properties.numericType != nil || "-._@ ".unicodeScalars.contains($0)
            })
        else { throw .invalid("the name: expected 1 to 64 letters, digits, blanks and any of - . _ @") }
        // Whoever reads a name in the log or the console goes by it.
        guard SignInMeans(of: name) == .token else {
            throw .invalid("the name: the router calls somebody else so; choose another one")
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

    /// Throws an ``OperationFailure`` where there is none of that name.
    mutating func revoke(_ name: String) throws(OperationFailure) -> NamedToken {
        guard let index = tokens.firstIndex(where: { $0.name == name }) else {
            throw .unknown("there is no token called \(name); carillon tokens list shows all")
        }
        return tokens.remove(at: index)
    }

    /// The token with this digest; nil where there is none, or its time is over.
    func token(ofDigest digest: String, now: Timestamp) -> NamedToken? {
        // Not the token is compared but its hash, of which an attacker knows nothing.
        tokens.first { $0.digest == digest && $0.expiresAt.map { $0 > now.seconds } ?? true }
    }

    /// Notes uses, by name. Returns whether any is worth being kept.
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

/// The API's named tokens, for an operator.
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

/// A token that was just made, with the only copy of its text.
package struct CreatedToken: OperatorAnswer, Equatable {
    package var token: String
    package var of: TokenList.Token

    package var text: String {
        let scopes = of.scopes.map(\.rawValue).joined(separator: ", ")
        return "\(token)\n\nKeep it now: it is not shown again. It is called \(of.name) and good for: \(scopes)"
            + (of.expiresAt.map { ", until \($0.minute)" } ?? "")
    }
}

/// A token that opens nothing any more.
package struct RevokedToken: OperatorAnswer, Equatable {
    package var revoked: TokenList.Token

    package var text: String { "revoked \(revoked.name): it opens nothing any more" }
}
