import Nostr

/// What happens around the owner of the phones: every notifiable kind of seed 000, then what must wake nobody, and last a
/// direct message, whose pushes prove that nothing was still to come.
struct Story {
    let owner: Person
    let note: Event
    let audio: Event
    /// Names, and the notes that others refer to. Nobody is woken by them.
    let background: [Event]
    let loud: [Scene]
    let silent: [Scene]
    let closing: Scene

    init() throws {
        let owner = try Person("olivia")
        let friends = try Dictionary(
            uniqueKeysWithValues: ["alice", "bob", "charlie", "dave", "eve", "frank", "grace"].map {
                ($0, try Person($0))
            }
        )
        func friend(_ name: String) throws -> Person {
            guard let person = friends[name] else { throw DemoError("nobody is called \(name)") }
            return person
        }
        let note = try owner.event(.textNote, content: "Bells are the oldest push notifications.")
        let audio = try owner.event(.audioNote, content: "https://example.com/bells.m4a")
        self.owner = owner
        self.note = note
        self.audio = audio
        background = try friends.values.map { try $0.profile() } + [note, audio]

        let writer = SceneWriter(owner: owner, note: note, audio: audio)
        let contacts = try friend("frank").event(.contactList, tags: [["p", owner.hex]])
        let like = try writer.like(by: friend("alice"))
        loud = [
            like,
            try writer.reaction(by: friend("alice")),
            try writer.repost(by: friend("bob")),
            try writer.audioRepost(by: friend("charlie")),
            try writer.reply(by: friend("dave")),
            try writer.mention(by: friend("dave")),
            try writer.audioNote(by: friend("eve")),
            writer.follow(contacts, by: "frank"),
        ]
        silent = try writer.silence(like: like, follower: friend("frank"), friend: friend("dave"))
        closing = try writer.directMessage(from: friend("grace"))
    }

    var pushCount: Int { (loud + [closing]).map(\.pushCount).reduce(0, +) }
}
