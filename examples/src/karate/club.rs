//! The data: who was a friend of whom, and which club each member joined after the split.

use std::str::FromStr;

/// The index of the instructor, "Mr. Hi", whose side is known to the model.
pub const INSTRUCTOR: usize = 0;

/// The index of the administrator, "John A.", whose side is known to the model.
pub const ADMINISTRATOR: usize = 33;

/// The two clubs that came out of the split of 1972.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Faction {
    /// The club that the instructor founded.
    Hi,
    /// The club that stayed with the officers around the administrator.
    Officers,
}

impl Faction {
    /// Both factions, in the order of the model's classes.
    pub const ALL: [Self; 2] = [Self::Hi, Self::Officers];

    /// The name that people read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hi => "Mr. Hi",
            Self::Officers => "the officers",
        }
    }
}

impl FromStr for Faction {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "Hi" => Ok(Self::Hi),
            "Officers" => Ok(Self::Officers),
            _ => Err(()),
        }
    }
}

/// The club: members are indices from 0, one less than the numbers of the paper and the data file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Club {
    /// The side each member took.
    pub factions: Vec<Faction>,
    /// The friendships, each once, the smaller index first.
    pub ties: Vec<(usize, usize)>,
}

/// A line of a club's file that says nothing a club can be made of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The first word is not one of the file's two.
    #[error("line {line}: `{word}` is not a statement; `faction` and `tie` are")]
    Statement {
        /// The line, from 1.
        line: usize,
        /// The word found.
        word: String,
    },
    /// A faction that took no part in the split.
    #[error("line {line}: `{word}` is not a faction; `Hi` and `Officers` are")]
    Faction {
        /// The line, from 1.
        line: usize,
        /// The word found.
        word: String,
    },
    /// A member that is no number from 1.
    #[error("line {line}: `{word}` is not a member; members are numbered from 1")]
    Member {
        /// The line, from 1.
        line: usize,
        /// The word found.
        word: String,
    },
    /// A member that no faction line names, or that two name.
    #[error("member {member} is in {count} factions; every member from 1 to the last is in one")]
    Unassigned {
        /// The member's number, from 1.
        member: usize,
        /// How many faction lines name it.
        count: usize,
    },
    /// A tie of a member with itself, or a tie stated twice.
    #[error("the tie {0} - {1} is stated twice or joins a member to itself; each friendship is stated once", .pair.0, .pair.1)]
    Tie {
        /// The two members' numbers, from 1.
        pair: (usize, usize),
    },
}

impl Club {
    /// The karate club of 1970 to 1972: 34 members, 78 friendships.
    pub fn zachary() -> Self {
        include_str!("../../data/karate.txt")
            .parse()
            .expect("the club's file is part of the program and its test parses it")
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.factions.len()
    }

    /// Whether nobody is in it.
    pub fn is_empty(&self) -> bool {
        self.factions.is_empty()
    }

    /// The members that `sides` puts in a club they did not join, in order.
    pub fn mistakes(&self, sides: &[Faction]) -> Vec<usize> {
        (0..self.len())
            .filter(|&member| sides[member] != self.factions[member])
            .collect()
    }
}

impl FromStr for Club {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut sides: Vec<(usize, Faction)> = Vec::new();
        let mut ties: Vec<(usize, usize)> = Vec::new();
        for (number, content) in text.lines().enumerate() {
            let line = number + 1;
            let content = content.split('#').next().unwrap_or_default();
            let mut words = content.split_whitespace();
            match words.next() {
                None => {}
                Some("faction") => {
                    let word = words.next().unwrap_or_default();
                    let faction = word.parse().map_err(|()| ParseError::Faction {
                        line,
                        word: word.to_owned(),
                    })?;
                    for word in words {
                        sides.push((member(word, line)?, faction));
                    }
                }
                Some("tie") => {
                    let first = member(words.next().unwrap_or_default(), line)?;
                    for word in words {
                        let other = member(word, line)?;
                        ties.push((first.min(other), first.max(other)));
                    }
                }
                Some(word) => {
                    return Err(ParseError::Statement {
                        line,
                        word: word.to_owned(),
                    });
                }
            }
        }
        ties.sort_unstable();
        let factions = assign(&sides, &ties)?;
        check_ties(&ties)?;
        Ok(Self { factions, ties })
    }
}

/// The index of the member numbered `word`.
fn member(word: &str, line: usize) -> Result<usize, ParseError> {
    word.parse::<usize>()
        .ok()
        .and_then(|number| number.checked_sub(1))
        .ok_or_else(|| ParseError::Member {
            line,
            word: word.to_owned(),
        })
}

/// One faction for every member up to the highest that is named anywhere.
fn assign(sides: &[(usize, Faction)], ties: &[(usize, usize)]) -> Result<Vec<Faction>, ParseError> {
    let named = sides.iter().map(|side| side.0);
    let last = named.chain(ties.iter().map(|tie| tie.1)).max();
    (0..last.map_or(0, |last| last + 1))
        .map(|member| {
            let mut own = sides.iter().filter(|side| side.0 == member);
            match (own.next(), own.count()) {
                (Some(side), 0) => Ok(side.1),
                (first, more) => Err(ParseError::Unassigned {
                    member: member + 1,
                    count: more + usize::from(first.is_some()),
                }),
            }
        })
        .collect()
}

/// Refuses loops and repetitions; `ties` are sorted.
fn check_ties(ties: &[(usize, usize)]) -> Result<(), ParseError> {
    let looped = ties.iter().find(|tie| tie.0 == tie.1);
    let repeated = ties
        .windows(2)
        .find(|pair| pair[0] == pair[1])
        .map(|pair| &pair[0]);
    match looped.or(repeated) {
        None => Ok(()),
        Some(&(a, b)) => Err(ParseError::Tie {
            pair: (a + 1, b + 1),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_holds_the_published_club() {
        let club = Club::zachary();
        assert_eq!(club.len(), 34);
        assert_eq!(club.ties.len(), 78);
        let hi = club.factions.iter().filter(|&&f| f == Faction::Hi).count();
        assert_eq!(hi, 17);
        assert_eq!(club.factions[INSTRUCTOR], Faction::Hi);
        assert_eq!(club.factions[ADMINISTRATOR], Faction::Officers);
        // Member 9 followed the instructor, although his friends were on the officers' side.
        assert_eq!(club.factions[8], Faction::Hi);
        let degree = |member| {
            let at = |tie: &&(usize, usize)| tie.0 == member || tie.1 == member;
            club.ties.iter().filter(at).count()
        };
        assert_eq!(degree(INSTRUCTOR), 16);
        assert_eq!(degree(32), 12);
        assert_eq!(degree(ADMINISTRATOR), 17);
        assert_eq!(degree(11), 1);
    }

    #[test]
    fn mistakes_are_the_members_on_another_side() {
        let club: Club = "faction Hi 1 2\nfaction Officers 3\ntie 1 2 3"
            .parse()
            .unwrap();
        let sides = [Faction::Hi, Faction::Officers, Faction::Officers];
        assert_eq!(club.mistakes(&sides), [1]);
        assert!(club.mistakes(&club.factions).is_empty());
    }

    #[test]
    fn what_is_no_club_is_refused_by_name() {
        let message = |text: &str| text.parse::<Club>().unwrap_err().to_string();
        assert_eq!(
            message("friend 1 2"),
            "line 1: `friend` is not a statement; `faction` and `tie` are"
        );
        assert_eq!(
            message("# a club\nfaction Ho 1"),
            "line 2: `Ho` is not a faction; `Hi` and `Officers` are"
        );
        assert_eq!(
            message("faction Hi 0"),
            "line 1: `0` is not a member; members are numbered from 1"
        );
        assert_eq!(
            message("faction Hi 1 2\ntie 1 2 3"),
            "member 3 is in 0 factions; every member from 1 to the last is in one"
        );
        assert_eq!(
            message("faction Hi 1 2\nfaction Officers 2\ntie 1 2"),
            "member 2 is in 2 factions; every member from 1 to the last is in one"
        );
        assert!(message("faction Hi 1 2\ntie 1 2\ntie 2 1").starts_with("the tie 1 - 2"));
        assert!(message("faction Hi 1\ntie 1 1").starts_with("the tie 1 - 1"));
    }
}
