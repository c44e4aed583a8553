import AccountWatch
import RelayPool

/// The ways on which events and registrations come in besides our own socket, and what they are looked up for.
extension Configuration {
    /// Other relays, to which we go out.
    package struct Relays: Sendable, Equatable {
        /// Connected all the time; everybody registered is watched there.
        package var always: [RelayURL] = []
        /// Whose word counts on the relays at which a user is watched besides.
        package var perUser = RelaySource.nip65
        /// Where NIP-46 sessions are held, besides our own socket. ``always`` where the file says nothing.
        package var nip46: [RelayURL] = []
        /// Where the advertisement (kind 10067) is published. ``always`` where the file says nothing.
        package var publish: [RelayURL] = []
        /// How far back a relay is read after an absence, in hours; from 1 to 720.
        package var catchUpHours = 48
    }

    /// Wake-up hints of partners (seed 004, kind 20062).
    package struct Hints: Sendable, Equatable {
        package var policy = HintPolicy.also
        /// How long after its last hint a partner counts as there, in minutes; from 1 to 10,080.
        package var silentMinutes = 60
    }

    /// Who may register.
    package struct Registration: Sendable {
        /// Whether it takes a NIP-46 session.
        package var requireSession = false
        /// The file with the secrets that open a session, one a line; nil: it takes none.
        package var secretFile: String?
        /// Where the file is named; 0 where no file was read.
        package var secretFilePlace = (line: 0, column: 0)
    }

    /// What notifications speak of: names, and the notes that are answered.
    package struct Context: Sendable {
        /// Whether names and notes are looked for and kept at all.
        package var isOn = true
        /// How long a notification waits for what has to be fetched, in milliseconds; from 0 to 10,000.
        package var waitMilliseconds: Int64 = 1_500
        /// The file that keeps what was fetched; nil: one beside the store.
        package var path: String?
        /// Where the file is named; 0 where no file was read.
        package var place = (line: 0, column: 0)
    }

    /// A stream of events as lines of JSON.
    package struct Feed: Sendable {
        /// A file or a FIFO, or `-` for standard input.
        package var path: String
        /// Whether to stop when it has ended and everything in it is dealt with.
        package var stopsAtEnd: Bool

        package init(path: String, stopsAtEnd: Bool = false) {
            self.path = path
            self.stopsAtEnd = stopsAtEnd
        }
    }

    /// The file with what notifications speak of, which may be lost at any time.
    package var contextPath: String { context.path ?? storePath + "-context" }

    /// The file with what became of events, which may be lost at any time.
    package var tracePath: String { storePath + "-trace" }
}
