import GRDB

/// The outbox's tables as migrations, in the order in which they run. A released migration must never change; add a new
/// one instead.
enum OutboxSchema {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("outbox 1") { db in
            for sql in [deliveries, paces, held, requests, figures] { try db.execute(sql: sql) }
        }
        return migrator
    }

    /// Deliveries without a final outcome, dead letters, and accepted events.
    ///
    /// `outbox_delivery.number` is an ``OutboxKey``. `due` is null until the first attempt has failed. The index only
    /// contains deliveries that wait for a retry, because an index in random order on a million first tries makes
    /// inserting ten times slower. A notification that several deliveries share is in `outbox_notification`; `shared`
    /// is its number, and `notification` is empty then. `failure`, `status` and `reason` describe the failure of the
    /// last attempt.
    private static let deliveries = """
        CREATE TABLE outbox_queue (
            number INTEGER PRIMARY KEY,
            platform TEXT NOT NULL,
            app TEXT NOT NULL,
            UNIQUE (platform, app)
        ) STRICT;
        CREATE TABLE outbox_delivery (
            number INTEGER PRIMARY KEY,
            queue INTEGER NOT NULL,
            id TEXT NOT NULL,
            device INTEGER NOT NULL,
            accepted INTEGER NOT NULL,
            attempts INTEGER NOT NULL DEFAULT 0,
            due INTEGER,
            notification BLOB NOT NULL,
            failure TEXT,
            status INTEGER,
            reason TEXT,
            shared INTEGER
        ) STRICT;
        CREATE INDEX outbox_delivery_retry ON outbox_delivery (queue, due) WHERE due IS NOT NULL;
        CREATE TABLE outbox_notification (number INTEGER PRIMARY KEY, content BLOB NOT NULL) STRICT;

        CREATE TABLE outbox_dead_letter (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL,
            platform TEXT NOT NULL,
            app TEXT NOT NULL,
            device INTEGER NOT NULL,
            accepted INTEGER NOT NULL,
            failed INTEGER NOT NULL,
            attempts INTEGER NOT NULL,
            failure TEXT NOT NULL,
            status INTEGER NOT NULL,
            reason TEXT NOT NULL,
            notification BLOB NOT NULL
        ) STRICT;
        CREATE INDEX outbox_dead_letter_device ON outbox_dead_letter (device);

        CREATE TABLE outbox_cause (number INTEGER PRIMARY KEY, id BLOB NOT NULL) STRICT;
        """

    /// The recent pushes to each device.
    private static let paces = """
        CREATE TABLE outbox_pace (
            device INTEGER PRIMARY KEY,
            pushed INTEGER NOT NULL,
            window_start INTEGER NOT NULL,
            matches INTEGER NOT NULL,
            day INTEGER NOT NULL,
            pushes INTEGER NOT NULL,
            under_way TEXT,
            released INTEGER NOT NULL,
            aside INTEGER NOT NULL,
            silent BLOB
        ) STRICT;
        """

    /// Held groups of events by ``HeldKey``. `members` are the numbers of events whose notifications are stored, one
    /// byte each; see ``HeldMemberKey``. Withdrawals are deletions of an event, an address or all events of an author,
    /// and addresses of which a newer version was pushed.
    private static let held = """
        CREATE TABLE outbox_held (
            number INTEGER PRIMARY KEY,
            account BLOB NOT NULL,
            event BLOB NOT NULL,
            is_message INTEGER NOT NULL,
            has_overflowed INTEGER NOT NULL,
            signal TEXT NOT NULL,
            mode INTEGER NOT NULL,
            urgency INTEGER NOT NULL,
            count INTEGER NOT NULL,
            since INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            nature INTEGER NOT NULL,
            mark INTEGER,
            made INTEGER NOT NULL,
            members BLOB
        ) STRICT;
        CREATE TABLE outbox_held_member (
            number INTEGER PRIMARY KEY,
            event BLOB NOT NULL,
            mode INTEGER NOT NULL,
            expires INTEGER NOT NULL,
            made INTEGER NOT NULL,
            notification BLOB NOT NULL,
            sealed_to INTEGER
        ) STRICT;

        CREATE TABLE outbox_withdrawal (
            number INTEGER PRIMARY KEY,
            author BLOB NOT NULL,
            event BLOB,
            address INTEGER,
            until INTEGER NOT NULL,
            is_older INTEGER
        ) STRICT;
        """

    /// API requests to notify, without content.
    private static let requests = """
        CREATE TABLE outbox_request (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id BLOB NOT NULL UNIQUE,
            sender BLOB NOT NULL,
            key BLOB,
            body BLOB NOT NULL,
            created INTEGER NOT NULL,
            events BLOB NOT NULL,
            answer TEXT
        ) STRICT;
        CREATE UNIQUE INDEX outbox_request_key ON outbox_request (sender, key) WHERE key IS NOT NULL;
        """

    /// Counts by UTC day, without keys of users.
    private static let figures = """
        CREATE TABLE outbox_figure (
            day INTEGER NOT NULL,
            what TEXT NOT NULL,
            platform TEXT NOT NULL,
            app TEXT NOT NULL,
            mode TEXT NOT NULL,
            language TEXT NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (day, what, platform, app, mode, language)
        ) STRICT, WITHOUT ROWID;
        """
}
