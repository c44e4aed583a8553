import CarillonLab
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

    /// What gives away who it is about: the owner's key, and what the friends are called by their profiles.
    var identities: [String] {
        let profiles = background.filter { $0.kind == .profile }
        return [owner.hex] + profiles.compactMap { JSON(parsing: Array($0.content.utf8))?["name"]?.string }
    }

    /// How many events must wake every phone.
    var wakingCount: Int { (loud + [closing]).count(where: \.wakes) }
}
