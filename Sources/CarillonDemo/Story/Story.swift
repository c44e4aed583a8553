import Nostr

/// What happens around the owner of phones: what must wake them, then what must wake nobody, and last a direct message, whose
/// pushes prove that nothing was still to come.
struct Story {
    let owner: Person
    /// Names, and the notes that others refer to. Nobody is woken by them.
    let background: [Event]
    let loud: [Scene]
    let silent: [Scene]
    let closing: Scene

    /// How many events must wake every phone.
    var wakingCount: Int { (loud + [closing]).count(where: \.wakes) }
}
