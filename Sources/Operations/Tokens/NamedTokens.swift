import Cipher
import Console
import Core
import Dispatch
import Foundation
import Glibc
import Logging
import RouterConfiguration
import Synchronization

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
                token.name, token.scopes.map(\.rawValue).joined(separator: ","), token.createdAt.minute,
                token.lastUsedAt.minute, token.isExpired ? "expired" : token.expiresAt.minute,
            ]
        }
        return TextTable.lines([["NAME", "SCOPES", "CREATED", "LAST USED", "EXPIRES"]] + rows).joined(separator: "\n")
    }
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

/// The file of named API tokens, next to the store. Commands change it while a router reads it, and the router records
/// the last uses in it. Every change takes a lock.
package struct TokenFile: Sendable {
    /// Enough for 200 tokens.
    private static let maxBytes = 256 << 10

    package let path: String

    package init(_ configuration: Configuration) {
        path = configuration.store.path + "-tokens"
    }

    init(path: String) {
        self.path = path
    }

    /// A missing file means no tokens. Throws an ``OperationError``, like all methods here.
    func read() throws(OperationError) -> NamedTokens {
        guard FileManager.default.fileExists(atPath: path) else { return NamedTokens() }
        if let exposure = FileExposure(ofFile: path) {
            throw .unavailable("\(path): the file of tokens \(exposure); run: \(exposure.remedy(for: path))")
        }
        guard let handle = FileHandle(forReadingAtPath: path), let data = try? handle.read(upToCount: Self.maxBytes)
        else { throw .unavailable("\(path): this user cannot read the file of tokens") }
        guard let tokens = try? JSONDecoder().decode(NamedTokens.self, from: data) else {
            throw .unavailable(
                "\(path): expected the file of tokens that carillon tokens writes; remove it to start again"
            )
        }
        return tokens
    }

    /// Changes the tokens, and writes the file if `body` changed any.
    func change<Answer>(
        _ body: (inout NamedTokens) throws(OperationError) -> Answer
    ) throws(OperationError) -> Answer {
        let lock = open(path + "-lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard lock >= 0 else { throw failure(errno) }
        defer { close(lock) }
        guard flock(lock, LOCK_EX) == 0 else { throw failure(errno) }
        let before = try read()
        var tokens = before
        let answer = try body(&tokens)
        if tokens != before { try write(tokens) }
        return answer
    }

    private func write(_ tokens: NamedTokens) throws(OperationError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        guard let data = try? encoder.encode(tokens) else { throw failure(EINVAL) }
        let next = path + "-next"
        unlink(next)
        let number = NewSecretFile.create(next, Array(data) + [0x0A])
        guard number == 0 else { throw failure(number) }
        guard rename(next, path) == 0 else { throw failure(errno) }
    }

    private func failure(_ number: Int32) -> OperationError {
        .unavailable("cannot write \(path): \(String(cString: strerror(number)))")
    }
}

/// Token commands. They change the file whether or not a router runs. A running router picks up the change immediately.
package struct TokenOperations {
    private let file: TokenFile
    private let now: @Sendable () -> Timestamp

    package init(_ configuration: Configuration, now: @escaping @Sendable () -> Timestamp = Timestamp.now) {
        self.init(file: TokenFile(configuration), now: now)
    }

    init(file: TokenFile, now: @escaping @Sendable () -> Timestamp) {
        self.file = file
        self.now = now
    }

    /// Throws an ``OperationError``, like all methods below.
    package func list() throws(OperationError) -> TokenList { TokenList(try file.read(), now: now()) }

    package func create(
        _ name: String,
        _ scopes: Set<APIScope>,
        for span: Duration?
    ) throws(OperationError) -> CreatedToken {
        let now = now()
        return try file.change { tokens throws(OperationError) in
            let text = try tokens.create(name, scopes, for: span, now: now, random: SecureRandom.bytes)
            guard let made = tokens.tokens.last else { throw .unavailable("no token was made") }
            return CreatedToken(token: text, of: TokenList.Token(made, now: now))
        }
    }

    package func revoke(_ name: String) throws(OperationError) -> RevokedToken {
        let now = now()
        return try file.change { tokens throws(OperationError) in
            RevokedToken(revoked: TokenList.Token(try tokens.revoke(name), now: now))
        }
    }
}

/// The valid tokens of a running router's API: the token file's and the named ones. Named tokens are reloaded when
/// their file changes. Their uses are written to it.
package final class CurrentTokens: Sendable {
    private struct State {
        var stamp: FileStamp?
        var tokens = NamedTokens()
        var uses: [String: Int64] = [:]
        var isWriting = false
    }

    private static let everything = APIPrincipal.agent(SignInMeans.tokenFile, Set(APIScope.allCases))

    private let file: TokenFile
    private let token: @Sendable () -> APIToken?
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let queue = DispatchQueue(label: "carillon.token-uses")
    private let state = Mutex(State())

    /// `token` returns the token file's token, which has all rights. A reload may replace it.
    package init(
        _ file: TokenFile,
        token: @escaping @Sendable () -> APIToken? = { nil },
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.file = file
        self.token = token
        self.now = now
        self.logger = logger
    }

    func principal(of text: String) -> APIPrincipal? {
        token()?.opens(text) ?? false ? Self.everything : named(APIToken.digest(of: text))
    }

    /// Returns the owner of the token with this digest; `nil` if there is none.
    package func principal(ofDigest digest: String) -> APIPrincipal? {
        token()?.digest == digest ? Self.everything : named(digest)
    }

    private func named(_ digest: String) -> APIPrincipal? {
        // Checks the file's timestamps once, and only for tokens other than the token file's.
        let stamp = FileStamp.of(file.path)
        let now = now()
        let (token, isWorthWriting) = state.withLock { state -> (NamedToken?, Bool) in
            if state.stamp != stamp { read(stamp, &state) }
            guard let token = state.tokens.token(ofDigest: digest, now: now) else { return (nil, false) }
            guard state.uses.updateValue(now.seconds, forKey: token.name) != now.seconds else { return (token, false) }
            var tokens = state.tokens
            guard !state.isWriting, tokens.use(state.uses) else { return (token, false) }
            state.isWriting = true
            return (token, true)
        }
        if isWorthWriting { queue.async { self.write() } }
        return token.map { .agent($0.name, Set($0.scopes)) }
    }

    private func read(_ stamp: FileStamp?, _ state: inout State) {
        do throws(OperationError) {
            state.tokens = try file.read()
        } catch {
            // After a read error no token is valid, because the old ones may be revoked.
            state.tokens = NamedTokens()
            logger.error("Failed to read the API's named tokens", metadata: ["reason": "\(error)"])
        }
        state.stamp = stamp
    }

    private func write() {
        let uses = state.withLock(\.uses)
        do throws(OperationError) {
            try file.change { tokens throws(OperationError) in _ = tokens.use(uses) }
        } catch {
            logger.warning(
                "Failed to save when API tokens were last used",
                metadata: ["reason": "\(error)"]
            )
        }
        // After an error, the next request does not try to write again.
        state.withLock { state in
            state.isWriting = false
            _ = state.tokens.use(uses)
        }
    }
}
