import Cipher
import Core
import PluginKit
import Synchronization

/// The destination of a registration's pushes.
enum ChatTarget: Hashable {
    /// A chat's number; those of groups are negative.
    case chat(Int64)
    /// A code that an app chose, and a person opens by `https://t.me/BOT?start=CODE`.
    case code(String)

    static let codeLengths = 16...60

    /// Returns nil if it is neither.
    init?(_ text: String) {
        if let number = Int64(text) {
            // A number with more digits is not a chat's, and as a code it would be easy to guess.
            guard number != 0, String(number) == text, number.magnitude < 10_000_000_000_000_000 else { return nil }
            self = .chat(number)
        } else {
            guard ChatTarget.codeLengths.contains(text.utf8.count), text.utf8.allSatisfy(ChatTarget.isCodeByte),
                !text.utf8.allSatisfy({ $0.isASCIIDigit || $0 == UInt8(ascii: "-") })
            else { return nil }
            self = .code(text)
        }
    }

    /// Whether Telegram allows a byte in `start=`.
    static func isCodeByte(_ byte: UInt8) -> Bool { byte.isASCIILetterOrDigit || byte.isOne(of: "_-") }

    /// The token of the registration.
    var text: String {
        switch self {
        case .chat(let number): String(number)
        case .code(let code): code
        }
    }
}

/// The state of a registration's token: the chat that a code was linked to, the chat that a group has become, and
/// whether its chat unsubscribed. It is stored under a digest of the token, so codes are never stored.
struct ChatLink: Hashable {
    /// The digest, 16 bytes.
    let digest: [UInt8]
    var chat: Int64
    /// The day of the last use, in days since 1970.
    var usedOnDay: UInt16
    /// Whether the chat sent `/stop`.
    var isStopped = false

    static let digestLength = 16
    static let length = digestLength + 8 + 2 + 1

    init(digest: [UInt8], chat: Int64, usedOnDay: UInt16) {
        self.digest = digest
        self.chat = chat
        self.usedOnDay = usedOnDay
    }

    /// Parses ``bytes``.
    init(_ bytes: ArraySlice<UInt8>) {
        let start = bytes.startIndex
        digest = Array(bytes[start..<start + Self.digestLength])
        let number = { (range: Range<Int>) in
            bytes[start + range.lowerBound..<start + range.upperBound].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        chat = Int64(bitPattern: number(16..<24))
        usedOnDay = UInt16(truncatingIfNeeded: number(24..<26))
        isStopped = number(26..<27) != 0
    }

    var bytes: [UInt8] {
        let number = UInt64(bitPattern: chat)
        return digest + (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
            + [UInt8(usedOnDay >> 8), UInt8(usedOnDay & 0xFF), isStopped ? 1 : 0]
    }
}

/// The links of one app, stored by the router. There is no copy in memory, because two instances share them while the
/// configuration is reloaded.
final class ChatLinks: Sendable {
    /// The result of linking a code.
    enum Change: Hashable {
        case linked
        /// Another chat has used the code.
        case taken
        /// There is no capacity left, or the router stores no state.
        case full
    }

    /// The number of buckets: with the webhook's secret, up to the 256 keys and 256 KiB of an instance.
    private static let buckets = 64
    static let bucketCapacity = 145
    /// The maximum number of codes for each chat, so that one chat cannot fill the store.
    private static let codesPerChat = 20
    /// The age in days from which a link may be evicted.
    private static let idleDays: UInt16 = 30
    /// The interval in days at which the day of use is stored.
    private static let writtenEveryDays: UInt16 = 7

    private let host: Host
    /// Held while a bucket is read and written.
    private let lock = Mutex(())

    init(_ host: Host) {
        self.host = host
    }

    /// Returns the link of a token, and records that it is in use.
    func link(of target: ChatTarget, today: UInt16) -> ChatLink? {
        let digest = Self.digest(target.text)
        return lock.withLock { _ in
            var links = bucket(of: digest)
            guard let index = links.firstIndex(where: { $0.digest == digest }) else { return nil }
            if today >= links[index].usedOnDay &+ Self.writtenEveryDays {
                links[index].usedOnDay = today
                write(links, at: digest)
            }
            return links[index]
        }
    }

    /// Links a code to a chat.
    func link(_ code: String, to chat: Int64, today: UInt16) -> Change {
        lock.withLock { _ in
            let digest = Self.digest(code)
            var links = bucket(of: digest)
            if let index = links.firstIndex(where: { $0.digest == digest }) {
                // A person who learns the code after its owner used it must not get the owner's messages.
                guard links[index].chat == chat else { return .taken }
                links[index].isStopped = false
                links[index].usedOnDay = today
                return write(links, at: digest) ? .linked : .full
            }
            makeRoom(for: chat)
            links = bucket(of: digest)
            return put(ChatLink(digest: digest, chat: chat, usedOnDay: today), in: links, today: today)
        }
    }

    /// Records that a chat unsubscribed. Returns whether that was stored.
    func stop(_ chat: Int64, today: UInt16) -> Bool {
        lock.withLock { _ in
            for number in Set(links(to: chat).map { Self.number($0.digest) }) {
                guard write(read(number).map { $0.stopped(of: chat) }, to: number) else { return false }
            }
            var link = ChatLink(digest: Self.digest(String(chat)), chat: chat, usedOnDay: today)
            link.isStopped = true
            return put(link, in: bucket(of: link.digest), today: today) != .full
        }
    }

    /// Resumes messages to the number of a chat that sent `/stop`.
    func resume(_ chat: Int64) {
        lock.withLock { _ in
            let digest = Self.digest(String(chat))
            let links = bucket(of: digest)
            guard links.contains(where: { $0.digest == digest && $0.chat == chat && $0.isStopped }) else { return }
            write(links.filter { $0.digest != digest }, at: digest)
        }
    }

    /// Records that a group has another number now.
    func move(_ target: ChatTarget, to chat: Int64, today: UInt16) {
        lock.withLock { _ in
            let digest = Self.digest(target.text)
            _ = put(ChatLink(digest: digest, chat: chat, usedOnDay: today), in: bucket(of: digest), today: today)
        }
    }

    /// Replaces the link with the same digest, or else the least recently used one.
    private func put(_ link: ChatLink, in links: [ChatLink], today: UInt16) -> Change {
        var links = links.filter { $0.digest != link.digest }
        if links.count >= Self.bucketCapacity {
            let oldest = links.indices.min { links[$0].usedOnDay < links[$1].usedOnDay }
            guard let oldest, today >= links[oldest].usedOnDay &+ Self.idleDays else { return .full }
            links.remove(at: oldest)
        }
        return write(links + [link], at: link.digest) ? .linked : .full
    }

    /// Removes the oldest code of a chat that has too many.
    private func makeRoom(for chat: Int64) {
        let own = links(to: chat)
        guard own.count >= Self.codesPerChat, let oldest = own.min(by: { $0.usedOnDay < $1.usedOnDay }) else { return }
        write(bucket(of: oldest.digest).filter { $0.digest != oldest.digest }, at: oldest.digest)
    }

    private func bucket(of digest: [UInt8]) -> [ChatLink] { read(Self.number(digest)) }

    /// Returns the links of all buckets to that chat.
    private func links(to chat: Int64) -> [ChatLink] {
        (0..<Self.buckets).flatMap { number in
            let bytes = (try? host.state(Self.key(number))) ?? []
            let starts = bytes.withUnsafeBytes { bytes in
                stride(from: 0, to: bytes.count - bytes.count % ChatLink.length, by: ChatLink.length).filter {
                    let place = $0 + ChatLink.digestLength
                    return Int64(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: Int64.self)) == chat
                }
            }
            return starts.map { ChatLink(bytes[$0..<$0 + ChatLink.length]) }
        }
    }

    private func read(_ number: Int) -> [ChatLink] {
        guard let bytes = try? host.state(Self.key(number)) else { return [] }
        return stride(from: 0, to: bytes.count - bytes.count % ChatLink.length, by: ChatLink.length).map {
            ChatLink(bytes[$0..<$0 + ChatLink.length])
        }
    }

    @discardableResult
    private func write(_ links: [ChatLink], at digest: [UInt8]) -> Bool { write(links, to: Self.number(digest)) }

    private func write(_ links: [ChatLink], to number: Int) -> Bool {
        (try? host.setState(Self.key(number), links.flatMap(\.bytes))) != nil
    }

    private static func number(_ digest: [UInt8]) -> Int { Int(digest[0]) % buckets }

    private static func key(_ number: Int) -> String { "links-\(number)" }

    /// Returns the key under which a token's link is stored.
    static func key(of token: String) -> String { key(number(digest(token))) }

    private static func digest(_ text: String) -> [UInt8] {
        Array(SHA256.hash(Array(text.utf8)).prefix(ChatLink.digestLength))
    }
}

extension ChatLink {
    fileprivate func stopped(of chat: Int64) -> ChatLink {
        var link = self
        if link.chat == chat { link.isStopped = true }
        return link
    }
}

extension Timestamp {
    /// Days since 1970.
    var day: UInt16 { UInt16(clamping: seconds / 86_400) }
}
