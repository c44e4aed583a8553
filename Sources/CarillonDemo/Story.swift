import CarillonLab
import Nostr

/// What happens around the owner of phones: events that must cause pushes, then events that must not, and a direct
/// message whose pushes prove that nothing else was coming.
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

    /// Every notifiable kind of seed 000, published at the router's own socket.
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
        let note = try owner.event(.textNote, content: "A bell is heard where nobody looks.")

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
        let note = try owner.event(.textNote, content: "What the bell tolls for is nobody's business.")

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
