import CarillonLab
import Foundation
import Nostr

/// Aligned columns, in colour if the terminal supports it.
struct Screen {
    private enum Style: String {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
    }

    /// The symbol at the start of a line.
    enum Mark {
        case good
        case bad
        case none
    }

    private static let kindWidth = 7
    private static let captionWidth = 33
    private static let middleWidth = 20
    private static let stepWidth = 26
    private static let resultWidth = 14
    private let hasColours: Bool

    init() {
        hasColours = isatty(1) == 1 && ProcessInfo.processInfo.environment["NO_COLOR"] == nil
    }

    func heading(_ text: String) {
        write("\n" + styled(text, .bold))
    }

    func text(_ text: String) {
        write("  " + text)
    }

    /// Writes the names of the columns.
    func columns(_ middle: String, _ last: String) {
        write(styled(cells("kind", "event", middle) + last, .dim))
    }

    /// Writes a successful step, its result, and a remark.
    func step(_ what: String, _ result: String, _ remark: String = "") {
        let start = " " + symbol(.good) + " " + padded(what, Self.stepWidth)
        write(remark.isEmpty ? start + result : start + padded(result, Self.resultWidth) + styled(remark, .dim))
    }

    /// Writes an event and its pushes. Texts with emoji come last, because terminals differ in their width.
    func row(_ mark: Mark, kind: UInt16, caption: String, middle: String, last: [String]) {
        let start = cells(String(kind), caption, middle)
        write(" " + symbol(mark) + " " + start.dropFirst(3) + (last.first ?? ""))
        writeRest(of: last, below: start)
    }

    /// Writes the pushes at another place for the event above.
    func row(middle: String, last: [String]) {
        let start = cells("", "", middle)
        write(start + (last.first ?? ""))
        writeRest(of: last, below: start)
    }

    func detail(_ text: String) {
        for line in text.split(separator: "\n") { write(styled("              " + line, .dim)) }
    }

    func success(_ text: String) {
        write("\n  " + styled(text, .green) + "\n")
    }

    func failure(_ text: String) {
        write("\n  " + styled("FAILED: " + text, .red) + "\n")
    }

    private func writeRest(of lines: [String], below start: String) {
        for line in lines.dropFirst() {
            write(String(repeating: " ", count: start.count) + styled(line, .dim))
        }
    }

    private func cells(_ kind: String, _ caption: String, _ middle: String) -> String {
        "   " + padded(kind, Self.kindWidth) + padded(caption, Self.captionWidth) + padded(middle, Self.middleWidth)
    }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
    }

    private func symbol(_ mark: Mark) -> String {
        switch mark {
        case .good: styled("✓", .green)
        case .bad: styled("✗", .red)
        case .none: " "
        }
    }

    private func styled(_ text: String, _ style: Style) -> String {
        hasColours ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// Writes without a buffer, even to a pipe.
    private func write(_ line: some StringProtocol) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}

/// Events around the owner of phones: some must cause pushes, some must not. A final direct message must, which proves
/// that no other push was coming.
struct Story {
    let owner: Person
    /// Profiles, and the notes that others reference. They cause no pushes.
    let background: [Event]
    let loud: [Scene]
    let silent: [Scene]
    let closing: Scene

    /// Texts that reveal the identity of a person: the owner's key and the friends' names.
    var identities: [String] {
        let profiles = background.filter { $0.kind == .profile }
        return [owner.hex] + profiles.compactMap { JSON(parsing: Array($0.content.utf8))?["name"]?.string }
    }

    /// How many events must cause a push to every phone.
    var wakingCount: Int { (loud + [closing]).count(where: \.wakes) }

    /// Every kind that notifies by default, published at the router's own socket.
    static func atTheRouter(around owner: Person) throws -> Story {
        let alice = try Person("alice")
        let bob = try Person("bob")
        let charlie = try Person("charlie")
        let dave = try Person("dave")
        let eve = try Person("eve")
        let frank = try Person("frank")
        let grace = try Person("grace")
        let note = try owner.event(.textNote, content: "Bells are the oldest push notifications.")
        let audio = try owner.event(.audioNote, content: "https://example.com/bells.m4a")

        let writer = SceneWriter(owner: owner, note: note)
        let contacts = try frank.event(.contactList, tags: [["p", owner.hex]])
        let like = try writer.like(by: alice)
        return Story(
            owner: owner,
            background: try [alice, bob, charlie, dave, eve, frank, grace].map { try $0.profile() } + [note, audio],
            loud: [
                like,
                try writer.reaction(by: alice),
                try writer.repost(by: bob),
                try writer.audioRepost(of: audio, by: charlie),
                try writer.reply(by: dave),
                try writer.mention(by: dave),
                try writer.audioNote(by: eve),
                writer.follow(contacts, by: frank.name),
            ],
            silent: try writer.silence(like: like, follower: frank, friend: dave),
            closing: try writer.directMessage(from: grace)
        )
    }

    /// Events at an outside relay, from which the router gets events, names and notes.
    static func atARelay(around owner: Person) throws -> Story {
        let heidi = try Person("heidi")
        let ivan = try Person("ivan")
        let judy = try Person("judy")
        let note = try owner.event(.textNote, content: "A bell is heard even by those who look away.")

        let writer = SceneWriter(owner: owner, note: note)
        let mention = try writer.mention(by: heidi)
        return Story(
            owner: owner,
            background: try [heidi, ivan, judy].map { try $0.profile() } + [note],
            loud: [
                mention.at(.relay),
                try writer.like(by: ivan).at(.relay),
                try writer.reply(by: heidi).at(.relay, .router),
            ],
            silent: [
                try writer.ownReaction().at(.relay),
                try writer.oldNote(by: heidi).at(.relay),
                writer.scene("the same mention once more", mention.event).at(.router),
            ],
            closing: try writer.directMessage(from: judy).at(.relay)
        )
    }

    /// A few events for devices with different modes.
    static func onManyDevices(around owner: Person) throws -> Story {
        let rupert = try Person("rupert")
        let victor = try Person("victor")
        let walter = try Person("walter")
        let note = try owner.event(.textNote, content: "The bell keeps its reasons private.")

        let writer = SceneWriter(owner: owner, note: note)
        return Story(
            owner: owner,
            background: try [rupert, victor, walter].map { try $0.profile() } + [note],
            loud: [
                try writer.reply(by: rupert).inGerman("💬 \(rupert.name) hat dir geschrieben"),
                try writer.like(by: victor).inGerman("⚡ \(victor.name) gefällt deine Notiz"),
            ],
            silent: [try writer.ownReaction()],
            closing: try writer.directMessage(from: walter)
                .inGerman("🔒 Du hast eine verschlüsselte Nachricht", "Nur du kannst sie lesen")
        )
    }
}
